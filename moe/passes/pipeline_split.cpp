#include "moe/passes/pipeline_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/exchange_end.h"
#include "moe/passes/op_edits.h"
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

/// The most copies of tokens that the op places, where it places copies.
std::optional<std::int64_t> copies_placed(const Program& program, const Op& op) {
  const std::size_t expert = std::holds_alternative<Permute>(op.kind) ? 1 : 0;
  const bool places = expert == 1 || std::holds_alternative<DispatchMask>(op.kind);
  if (!places || op.reads.size() <= expert) return std::nullopt;
  const Tensor& chosen = program.tensors[op.reads[expert].tensor];
  return chosen.rows * chosen.columns;
}

/// What splits need to know of the Program, from one scan for all of them.
struct RoutedLayers {
  struct Layer {
    std::vector<std::size_t> counts;  ///< places of the ops that tell how many rows there are
    std::int64_t most_sent_rows = 0;  ///< of a rank; 0 where the Program does not tell
    bool is_cut = false;
    bool balanced = false;  ///< RowsOfOthers::balanced
  };
  std::map<int, Layer> layers;  ///< those that are split
  /// [layer, phase, micro-batch]: the places of the ops that can be cut, ascending.
  std::map<std::tuple<int, Phase, int>, std::vector<std::size_t>> places;

  RoutedLayers(const Program& program, std::span<const PipelineSplit> splits) {
    for (const PipelineSplit& split : splits) layers[split.layer];
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const auto found = layers.find(op.layer);
      if (found == layers.end()) continue;
      Layer& layer = found->second;
      if (counts_of(op) != nullptr) layer.counts.push_back(i);
      layer.balanced = layer.balanced || balances_rows(op);
      for (const Use& use : op.writes) {
        const Tensor& sent = program.tensors[use.tensor];
        if (sent.rows_are != Rows::sent) continue;
        layer.most_sent_rows =
            std::max(layer.most_sent_rows,
                     sent.rows > 0 ? sent.rows : copies_placed(program, op).value_or(0));
      }
      if (!follows_routed_rows(program, op)) continue;
      layer.is_cut = layer.is_cut || op.chunk.count > 1;
      places[{op.layer, op.phase, op.micro_batch}].push_back(i);
    }
  }

  std::span<const std::size_t> of(const PipelineSplit& split, int micro_batch) const {
    const auto found = places.find({split.layer, split.phase, micro_batch});
    return found == places.end() ? std::span<const std::size_t>() : std::span(found->second);
  }
};

/// How the layer's rows are divided among chunks; both phases use the same rows.
template <class Refuse>
void share_out(Program& program, const PipelineSplit& split, const RoutedLayers::Layer& layer,
               const Refuse& refuse) {
  const int size = split.ranks_per_group;
  const int ranks = program.groups.layout.expert;
  if (size < 0 || (size > 0 && ranks % size != 0)) {
    refuse(fmt::format("groups of {} ranks, where {} exchange rows", size, ranks),
           fmt::format("expected one of {}", fmt::join(divisors(ranks), ", ")));
  }
  if (split.chunks == 1) return;
  for (const std::size_t place : layer.counts) {
    ExchangeCounts* counts = counts_of(program.ops[place]);
    if (layer.is_cut && counts->ranks_per_group != size) {
      const auto by = [](int ranks_per_group) {
        return ranks_per_group == 0 ? std::string("along the rows of all ranks")
                                    : fmt::format("by groups of {} ranks", ranks_per_group);
      };
      refuse(fmt::format("cut {}, the other phase {}", by(size), by(counts->ranks_per_group)),
             "expected both alike", program.ops[place].name);
    }
    counts->ranks_per_group = size;
  }
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

/// Refuses to cut ops at `places` that cannot be cut.
template <class Refuse>
void check_places(const Program& program, std::span<const std::size_t> places,
                  const Refuse& refuse) {
  std::vector<TensorId> written_among;
  auto next = places.begin();
  for (std::size_t i = places.front(); i <= places.back(); ++i) {
    const Op& op = program.ops[i];
    if (i != *next) {
      // Ops between the cut ones will come after all of them, so none of the cut ops may read
      // the tensors that these write.
      for (const Use& use : op.writes) written_among.push_back(use.tensor);
      continue;
    }
    ++next;
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
  }
}

/// True for an op that the split leaves whole: slices of sent rows are not slices of the rows of
/// each expert where steps cut them, or where several members compute an expert's rows.
bool stays_whole(const Program& program, const PipelineSplit& split,
                 const RoutedLayers::Layer& layer, const Op& op) {
  return (split.ranks_per_group > 0 || layer.balanced) && places_copies(program, op);
}

/// The ops of one micro-batch that take the place of those at `places`.
std::vector<Op> pipeline_of(const Program& program, const PipelineSplit& split,
                            const RoutedLayers::Layer& layer, std::span<const std::size_t> places,
                            OpEdits& edits) {
  std::vector<Op> pipeline, first, second;
  bool arrived = false;
  for (const std::size_t place : places) {
    Op op = edits.take(place);
    if (stays_whole(program, split, layer, op)) {
      pipeline.push_back(std::move(op));
      continue;
    }
    // The first stage ends with the last of the exchanges that bring the rows to the experts.
    arrived =
        arrived || (!first.empty() && is_communication(first.back()) && !is_communication(op));
    (arrived ? second : first).push_back(std::move(op));
  }
  std::vector<std::vector<Op>> all_first;
  all_first.push_back(std::move(first));
  std::ranges::move(staggered(program, all_first, split.chunks), std::back_inserter(pipeline));
  std::ranges::move(staggered(program, stretches(std::move(second)), split.chunks),
                    std::back_inserter(pipeline));
  return pipeline;
}

}  // namespace

Program apply(Program program, const PipelineSplit& split) {
  return apply_all(std::move(program), std::span(&split, 1));
}

Program apply_all(Program program, std::span<const PipelineSplit> splits) {
  RoutedLayers routed(program, splits);
  std::size_t ops = program.ops.size();
  for (const PipelineSplit& split : splits) {
    const auto refuse = [&](std::string_view why, std::string way_out, std::string op = {}) {
      throw Refusal(fmt::format("pipeline_split: {} chunks (layer {}, {})", split.chunks,
                                split.layer, phase_name(split.phase)),
                    why, std::move(way_out), {std::move(op), split.layer});
    };
    RoutedLayers::Layer& layer = routed.layers.at(split.layer);
    if (split.chunks < 1) refuse("", "expected at least 1 chunk");
    if (split.chunks > kMostChunks)
      refuse("", fmt::format("expected at most {} chunks", kMostChunks));
    if (layer.most_sent_rows > 0 && split.chunks > layer.most_sent_rows) {
      refuse(fmt::format("a rank sends at most {} rows there", layer.most_sent_rows),
             fmt::format("expected at most {} chunks", layer.most_sent_rows));
    }
    share_out(program, split, layer, refuse);
    bool found = false;
    for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
      const std::span<const std::size_t> places = routed.of(split, micro_batch);
      if (places.empty()) continue;
      check_places(program, places, refuse);
      const auto cut = std::ranges::count_if(places, [&](std::size_t place) {
        return !stays_whole(program, split, layer, program.ops[place]);
      });
      found = found || cut > 0;
      ops += static_cast<std::size_t>(cut) * static_cast<std::size_t>(split.chunks - 1);
      if (ops > kMostOps) refuse(kTooManyOps, kFewerOps);
    }
    if (!found) refuse("no experts there", expected_moe_layer(program));
    layer.is_cut = layer.is_cut || split.chunks > 1;
  }
  OpEdits edits(program.ops);
  for (const PipelineSplit& split : splits) {
    for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
      const std::span<const std::size_t> places = routed.of(split, micro_batch);
      if (places.empty()) continue;
      edits.put_before(places.front(),
                       pipeline_of(program, split, routed.layers.at(split.layer), places, edits));
    }
  }
  edits.make();
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
