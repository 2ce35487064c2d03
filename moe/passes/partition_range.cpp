#include "moe/passes/partition_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/batch_cutter.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/exchange_end.h"
#include "moe/passes/gate_choice.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

/// Positions in the Program, ascending.
using OpList = std::vector<std::size_t>;

OpList ops_of(const Program& program, int micro_batch, Phase phase) {
  OpList list;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.micro_batch == micro_batch && op.phase == phase && !comes_once(op) &&
        !std::holds_alternative<SendExperts>(op.kind)) {
      list.push_back(i);
    }
  }
  return list;
}

/// Two positions among the forward ops of a micro-batch: the gate's choice (or the SplitSelection
/// after it), and the last op on routed rows, which combines tokens.
struct RoutedSection {
  OpList forward;
  std::size_t choice = 0, last = 0;
};

RoutedSection routed_section(const Program& program, int layer, int micro_batch) {
  RoutedSection section{forward_ops(program, micro_batch)};
  std::optional<std::size_t> choice, last;
  for (const Op& op : program.ops) {
    if (op.layer != layer || !depends_on_counts(op)) continue;
    refuse_range(layer, "replicas are chosen after the gate of the whole layer (after_gate)",
                 "expected replicate_experts with replicas, or pipeline_split");
  }
  for (std::size_t place = 0; place < section.forward.size(); ++place) {
    const Op& op = program.ops[section.forward[place]];
    if (op.layer != layer) continue;
    if (chooses_experts(op) || deals_out_copies(op)) choice = place;
    if (uses_routed_rows(program, op)) last = place;
  }
  if (!last) refuse_range(layer, "no experts there", expected_moe_layer(program));
  if (!choice) {
    refuse_range(layer, "its gate looks at whole capacity groups",
                 "expected a gate that takes token by token, or pipeline_split, which cuts the "
                 "exchange along the routed rows");
  }
  section.choice = *choice;
  section.last = *last;
  return section;
}

/// The order of the cut ops: stage by stage, where a stage ends with an exchange of rows and runs
/// for all parts before the next stage.
std::vector<Op> in_parts(const Program& program, const BatchCutter& cutter, const OpList& cut,
                         int parts) {
  std::vector<OpList> stages(1);
  bool exchanged = false;
  for (const std::size_t i : cut) {
    const bool exchange = exchanges_rows(program.ops[i]) || ends_exchange(program.ops[i]);
    if (exchanged && !exchange) stages.emplace_back();
    stages.back().push_back(i);
    exchanged = exchange;
  }
  std::vector<Op> ops;
  for (const OpList& stage : stages) {
    for (int part = 0; part < parts; ++part) {
      for (const std::size_t i : stage) ops.push_back(cutter.part_of(program.ops[i], part));
    }
  }
  return ops;
}

bool uses_any(const std::vector<Use>& uses, const std::set<TensorId>& tensors) {
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return tensors.contains(use.tensor); });
}

/// A range of the section that ends before the op at `place`.
std::string expected_without(const RoutedSection& section, std::size_t place) {
  if (place < section.choice) {
    return fmt::format("expected ops_before of at most {}", section.choice - place - 1);
  }
  if (place > section.last) {
    return fmt::format("expected ops_after of at most {}", place - section.last - 1);
  }
  return kSplitRows;
}

/// The ops of [first, last] of the section that are cut; the others come after them.
OpList cut_forward(const Program& program, BatchCutter& cutter, const RoutedSection& section,
                   std::size_t first, std::size_t last, int layer) {
  OpList cut;
  std::set<TensorId> made_later, read_later;  // by ops that come after the range
  for (std::size_t place = first; place <= last; ++place) {
    const Op& op = program.ops[section.forward[place]];
    const auto refuse = [&](std::string_view why) {
      refuse_range(layer, why, expected_without(section, place), op.name);
    };
    if (op.stage != program.ops[section.forward[section.choice]].stage) {
      refuse(fmt::format("\"{}\" is of another pipeline stage", op.name));
    }
    if (op.layer != layer && belongs_to_routing(program, op)) {
      refuse(fmt::format("\"{}\" is of MoE layer {}", op.name, op.layer));
    }
    const std::optional<std::string> refusal = cutter.refusal_to_cut(op);
    const bool needs_later = uses_any(op.reads, made_later) || uses_any(op.writes, made_later);
    const bool overwrites = uses_any(op.writes, read_later);
    if (!refusal && !needs_later && !overwrites) {
      cutter.own_results(op);
      cut.push_back(section.forward[place]);
      continue;
    }
    const bool may_wait = place > section.choice && place < section.last && !overwrites &&
                          !uses_routed_rows(program, op);
    if (!may_wait) {
      refuse(fmt::format(
          "\"{}\" cannot be cut along the batch{}", op.name,
          refusal && *refusal != op.name ? fmt::format(" (it needs all of {})", *refusal) : ""));
    }
    for (const Use& use : op.writes) made_later.insert(use.tensor);
    for (const Use& use : op.reads) read_later.insert(use.tensor);
  }
  return cut;
}

/// The backward ops on routed rows of the layer, which are to be cut into the same parts.
OpList cut_backward(const Program& program, BatchCutter& cutter, const OpList& backward,
                    int layer) {
  for (const std::size_t i : backward) {
    const Op& op = program.ops[i];
    if (op.layer == layer && uses_routed_rows(program, op)) cutter.own_results(op);
  }
  OpList cut;
  std::set<TensorId> made_among, read_among;  // by ops that come after the cut ones
  for (const std::size_t i : backward) {
    const Op& op = program.ops[i];
    if (op.layer != layer || !uses_routed_rows(program, op)) {
      if (!cut.empty()) {
        for (const Use& use : op.writes) made_among.insert(use.tensor);
        for (const Use& use : op.reads) read_among.insert(use.tensor);
      }
      continue;
    }
    const std::optional<std::string> refusal = cutter.refusal_to_cut(op);
    if (refusal || uses_any(op.reads, made_among) || uses_any(op.writes, made_among) ||
        uses_any(op.writes, read_among)) {
      refuse_range(layer,
                   fmt::format("\"{}\" cannot be cut along the batch{}", op.name,
                               refusal ? fmt::format(" (it needs all of {})", *refusal) : ""),
                   kSplitRows, op.name);
    }
    cut.push_back(i);
  }
  return cut;
}

/// The Program without the ops at `cut`, and with `parts` where the first of them stood. Transfers
/// of experts that stood among them come before them, since no op writes the parameters
/// that they send.
void replace(Program& program, const OpList& cut, std::vector<Op> parts) {
  std::vector<Op> ops;
  std::size_t next = 0;
  const auto sends = [&](std::size_t i) {
    return std::holds_alternative<SendExperts>(program.ops[i].kind);
  };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (next < cut.size() && cut[next] == i) {
      if (next++ == 0) {
        for (std::size_t j = i; j < cut.back(); ++j) {
          if (sends(j)) ops.push_back(program.ops[j]);
        }
        ops.insert(ops.end(), parts.begin(), parts.end());
      }
      continue;
    }
    if (next > 0 && next < cut.size() && sends(i)) continue;
    ops.push_back(std::move(program.ops[i]));
  }
  program.ops = std::move(ops);
}

void partition_micro_batch(Program& program, const PartitionRange& range, int micro_batch) {
  const RoutedSection section = routed_section(program, range.layer, micro_batch);
  BatchCutter cutter(program, range.layer, range.parts);
  const auto first = section.choice - static_cast<std::size_t>(range.ops_before);
  const auto last = section.last + static_cast<std::size_t>(range.ops_after);
  const OpList cut = cut_forward(program, cutter, section, first, last, range.layer);
  const OpList cut_too =
      cut_backward(program, cutter, ops_of(program, micro_batch, Phase::backward), range.layer);
  std::vector<Op> forward_parts = in_parts(program, cutter, cut, range.parts),
                  backward_parts = in_parts(program, cutter, cut_too, range.parts);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const bool is_cut = std::binary_search(cut.begin(), cut.end(), i) ||
                        std::binary_search(cut_too.begin(), cut_too.end(), i);
    if (!is_cut) cutter.use_last(program.ops[i]);
  }
  // Backward first: it comes after the forward ops, whose positions so stay the same.
  replace(program, cut_too, std::move(backward_parts));
  replace(program, cut, std::move(forward_parts));
}

/// Throws where that cannot be.
void cut_into_parts(Program& program, const PartitionRange& range) {
  const std::int64_t sequences = sequences_of(program);
  if (range.parts < 1 || sequences % range.parts != 0) {
    refuse_range(
        range.layer,
        fmt::format("{} parts of {} sequences of a rank and micro-batch", range.parts, sequences),
        fmt::format("expected a divisor of {}", sequences));
  }
  if (range.parts > kMostBatchParts) {
    refuse_range(range.layer, fmt::format("{} parts", range.parts),
                 fmt::format("expected at most {}", kMostBatchParts));
  }
  for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
    const RoutedSection section = routed_section(program, range.layer, micro_batch);
    const auto after = section.forward.size() - 1 - section.last;
    if (range.ops_before < 0 || static_cast<std::size_t>(range.ops_before) > section.choice ||
        range.ops_after < 0 || static_cast<std::size_t>(range.ops_after) > after) {
      refuse_range(range.layer,
                   fmt::format("{} ops before and {} after: forward has {} and {} there",
                               range.ops_before, range.ops_after, section.choice, after),
                   fmt::format("expected ops_before of 0 to {} and ops_after of 0 to {}",
                               section.choice, after));
    }
    const std::size_t choice = section.forward[section.choice];
    if (const auto refusal = refusal_to_cut(program.ops[choice])) {
      if (range.ops_before > 0) {
        refuse_range(range.layer,
                     fmt::format("{} ops before: {}", range.ops_before, refusal->reason),
                     refusal->way_out + ", or ops_before = 0", program.ops[choice].name);
      }
      split_selection(program, choice);
    }
    partition_micro_batch(program, range, micro_batch);
    if (program.ops.size() > kMostOps) refuse_range(range.layer, kTooManyOps, kFewerOps);
  }
}

}  // namespace

std::int64_t sequences_of(const Program& program) {
  const std::int64_t tokens = program.tensors[program.tokens.front()].rows;
  for (const Op& op : program.ops) {
    if (const auto* attention = std::get_if<Attention>(&op.kind)) {
      return tokens / attention->sequence_length;
    }
  }
  return tokens;
}

std::vector<std::size_t> forward_ops(const Program& program, int micro_batch) {
  return ops_of(program, micro_batch, Phase::forward);
}

Program apply(Program program, const PartitionRange& range) {
  if (range.parts == 1) {  // checked like any other, with nothing to do
    Program copy = program;
    cut_into_parts(copy, range);
    return program;
  }
  cut_into_parts(program, range);
  return program;
}

std::string subject(const PartitionRange& range) { return std::to_string(range.layer); }

void write(nlohmann::json& object, const PartitionRange& range) {
  object["layer"] = range.layer;
  object["parts"] = range.parts;
  object["ops_before"] = range.ops_before;
  object["ops_after"] = range.ops_after;
}

PartitionRange PartitionRange::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PartitionRange range;
  range.layer = read_layer(input);
  range.parts = static_cast<int>(input.integer("parts", 1, most));
  if (input.has("ops_before"))
    range.ops_before = static_cast<int>(input.integer("ops_before", 0, most));
  if (input.has("ops_after"))
    range.ops_after = static_cast<int>(input.integer("ops_after", 0, most));
  return range;
}

}  // namespace moe
