#include "moe/passes/pipeline_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/exchange_end.h"
#include "moe/passes/way_out.h"

namespace moe {

bool follows_routed_rows(const Program& program, const Op& op) {
  const OpFacts& facts = facts_of(op);
  bool routed = false, cut = true;
  const auto look = [&](const std::vector<Use>& uses, const Operands& operands) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (program.tensors[uses[i].tensor].rows_are == Rows::fixed) {
        continue;
      }
      routed = true;
      cut = cut && operands.at(i) == Cut::rows;
    }
  };
  look(op.reads, facts.reads);
  look(op.writes, facts.writes);
  return routed && cut;
}

namespace {

Op cut_piece(const Program& program, Op op, Slice chunk) {
  op.chunk = chunk;
  for (auto* uses : {&op.reads, &op.writes}) {
    for (Use& use : *uses) {
      if (program.tensors[use.tensor].rows_are != Rows::fixed) {
        use.slice = chunk;
      }
    }
  }
  return chunk.index > 0 ? accumulating(std::move(op)) : op;
}

/// True for ops that bring copies of tokens into the order of the experts, which is not the order
/// of steps.
bool places_copies(const Program& program, const Op& op) {
  return std::none_of(op.reads.begin(), op.reads.end(), [&](const Use& use) {
    return program.tensors[use.tensor].rows_are != Rows::fixed;
  });
}

bool layer_is_cut(const Program& program, int layer) {
  return std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return op.layer == layer && op.chunk.count > 1 && follows_routed_rows(program, op);
  });
}

/// How the layer's rows are divided among chunks; both phases use the same rows.
template <class Refuse>
void share_out(Program& program, const PipelineSplit& split, const Refuse& refuse) {
  const int size = split.ranks_per_group;
  const int ranks = program.groups.layout.expert;
  if (size < 0 || (size > 0 && ranks % size != 0)) {
    refuse(fmt::format("groups of {} ranks, where {} exchange rows", size, ranks),
           fmt::format("expected one of {}", fmt::join(divisors(ranks), ", ")));
  }
  const bool cut = layer_is_cut(program, split.layer);
  for (Op& op : program.ops) {
    ExchangeCounts* counts = counts_of(op);
    if (counts == nullptr || op.layer != split.layer) continue;
    if (cut && counts->ranks_per_group != size && split.chunks > 1) {
      const auto by = [](int ranks_per_group) {
        return ranks_per_group == 0 ? std::string("along the rows of all ranks")
                                    : fmt::format("by groups of {} ranks", ranks_per_group);
      };
      refuse(fmt::format("cut {}, the other phase {}", by(size), by(counts->ranks_per_group)),
             "expected both alike", op.name);
    }
    if (split.chunks > 1) counts->ranks_per_group = size;
  }
}

/// The most copies of tokens that the op places, where it places copies.
std::optional<std::int64_t> copies_placed(const Program& program, const Op& op) {
  const std::size_t expert = std::holds_alternative<Permute>(op.kind) ? 1 : 0;
  const bool places = expert == 1 || std::holds_alternative<DispatchMask>(op.kind);
  if (!places || op.reads.size() <= expert) return std::nullopt;
  const Tensor& chosen = program.tensors[op.reads[expert].tensor];
  return chosen.rows * chosen.columns;
}

/// The most rows that a rank can send into the layer; 0 where the Program does not tell.
std::int64_t most_sent_rows(const Program& program, int layer) {
  std::int64_t rows = 0;
  for (const Op& op : program.ops) {
    if (op.layer != layer) continue;
    for (const Use& use : op.writes) {
      const Tensor& sent = program.tensors[use.tensor];
      if (sent.rows_are != Rows::sent) continue;
      rows = std::max(rows, sent.rows > 0 ? sent.rows : copies_placed(program, op).value_or(0));
    }
  }
  return rows;
}

bool reads_any_of(const Op& op, const std::vector<TensorId>& tensors) {
  return std::any_of(op.reads.begin(), op.reads.end(), [&](const Use& use) {
    return std::find(tensors.begin(), tensors.end(), use.tensor) != tensors.end();
  });
}

/// Cuts the ops into stretches. A new stretch begins with an op that computes with rows that an
/// exchange among these ops has brought, and so waits for other ranks.
std::vector<std::vector<Op>> stretches(std::vector<Op> ops) {
  std::vector<std::vector<Op>> result(1);
  std::vector<TensorId> brought;
  for (Op& op : ops) {
    const bool exchanges = is_communication(op) || ends_exchange(op);
    if (!exchanges && reads_any_of(op, brought)) {
      result.emplace_back();
      brought.clear();
    }
    if (exchanges) {
      for (const Use& use : op.writes) brought.push_back(use.tensor);
    }
    result.back().push_back(std::move(op));
  }
  return result;
}

/// Chunk after chunk, each chunk one stretch later than the one before it.
std::vector<Op> staggered(const Program& program, const std::vector<std::vector<Op>>& stretches,
                          int chunks) {
  std::vector<Op> ops;
  const int count = static_cast<int>(stretches.size());
  for (int step = 0; step < chunks + count - 1; ++step) {
    for (int i = 0; i < count; ++i) {
      const int chunk = step - i;
      if (chunk < 0 || chunk >= chunks) continue;
      for (const Op& whole : stretches[i]) {
        ops.push_back(cut_piece(program, whole, {chunk, chunks}));
      }
    }
  }
  return ops;
}

/// False where the micro-batch has no ops of the layer and phase.
template <class Refuse>
bool split_micro_batch(Program& program, const PipelineSplit& split, int micro_batch,
                       const Refuse& refuse) {
  std::vector<Op> ops, whole, first, second;
  std::vector<TensorId> written_among;
  std::size_t insert_at = 0;
  bool arrived = false;
  for (Op& op : program.ops) {
    if (op.layer != split.layer || op.phase != split.phase || op.micro_batch != micro_batch ||
        !follows_routed_rows(program, op)) {
      // Ops between the cut ones will come after all of them, so none of the cut ops may read
      // the tensors that these write.
      if (!first.empty() || !whole.empty()) {
        for (const Use& use : op.writes) written_among.push_back(use.tensor);
      }
      ops.push_back(std::move(op));
      continue;
    }
    if (op.chunk.count != 1) {
      refuse("the layer is split already", "expected one decision for each phase of the layer",
             op.name);
    }
    if (op.part.count != 1) {
      refuse("the layer is cut along the batch (partition_range)",
             "expected pipeline_split or partition_range, not both", op.name);
    }
    if (reads_any_of(op, written_among)) {
      refuse(fmt::format("\"{}\" reads what an op makes of all rows at once", op.name),
             "expected a hook that takes the rows one by one, or the layer uncut", op.name);
    }
    if (first.empty() && whole.empty()) insert_at = ops.size();
    if (split.ranks_per_group > 0 && places_copies(program, op)) {
      whole.push_back(std::move(op));
      continue;
    }
    // The first stage ends with the last of the exchanges that bring the rows to the experts.
    arrived =
        arrived || (!first.empty() && is_communication(first.back()) && !is_communication(op));
    (arrived ? second : first).push_back(std::move(op));
  }

  const bool found = !first.empty();
  std::vector<Op> pipeline = std::move(whole);
  std::ranges::move(staggered(program, {std::move(first)}, split.chunks),
                    std::back_inserter(pipeline));
  std::vector<Op> rest = staggered(program, stretches(std::move(second)), split.chunks);
  std::move(rest.begin(), rest.end(), std::back_inserter(pipeline));
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(insert_at),
             std::make_move_iterator(pipeline.begin()), std::make_move_iterator(pipeline.end()));
  program.ops = std::move(ops);
  return found;
}

}  // namespace

Program apply(Program program, const PipelineSplit& split) {
  const auto refuse = [&](std::string_view why, std::string way_out, std::string op = {}) {
    throw Refusal(fmt::format("pipeline_split: {} chunks (layer {}, {})", split.chunks, split.layer,
                              phase_name(split.phase)),
                  why, std::move(way_out), {std::move(op), split.layer});
  };
  if (split.chunks < 1) refuse("", "expected at least 1 chunk");
  if (split.chunks > kMostChunks)
    refuse("", fmt::format("expected at most {} chunks", kMostChunks));
  const std::int64_t rows = most_sent_rows(program, split.layer);
  if (rows > 0 && split.chunks > rows) {
    refuse(fmt::format("a rank sends at most {} rows there", rows),
           fmt::format("expected at most {} chunks", rows));
  }

  share_out(program, split, refuse);
  bool found = false;
  for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
    found = split_micro_batch(program, split, micro_batch, refuse) || found;
    if (program.ops.size() > kMostOps) refuse(kTooManyOps, kFewerOps);
  }
  if (!found) refuse("no experts there", expected_moe_layer(program));
  return program;
}

std::string subject(const PipelineSplit& split) {
  return fmt::format("{} {}", split.layer, phase_name(split.phase));
}

void write(nlohmann::json& object, const PipelineSplit& split) {
  object["layer"] = split.layer;
  object["phase"] = phase_name(split.phase);
  object["chunks"] = split.chunks;
  if (split.ranks_per_group > 0) object["ranks_per_group"] = split.ranks_per_group;
}

PipelineSplit PipelineSplit::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PipelineSplit split;
  split.layer = read_layer(input);
  split.phase = read_phase(input);
  split.chunks = static_cast<int>(input.integer("chunks", 1, most));
  if (input.has("ranks_per_group")) {
    split.ranks_per_group = static_cast<int>(input.integer("ranks_per_group", 1, most));
  }
  return split;
}

}  // namespace moe
