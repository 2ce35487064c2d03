#include "tuner/planners/lancet/forward_ranges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "tuner/planners/lancet/lancet_equations.h"
#include "tuner/planners/pipeline_schedule.h"
#include "tuner/planners/situation_costs.h"

namespace tuner {
namespace {

/// Groups of ops between neighbouring MoE layers  [Lancet 7, hyper-parameters].
constexpr int kGroups = 5;
constexpr int kMostParts = 8;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// One part of `parts` takes fixed_s + shared_s / parts; an op that is not cut in a range takes all, after it.
struct ForwardOp {
  double fixed_s = 0, shared_s = 0;
  bool exchange = false;
  bool cut = false;
  double whole_s() const { return fixed_s + shared_s; }
};

/// What the dynamic program counts: ops that stay together.
struct Group {
  std::size_t first = 0, end = 0;  ///< forward ops
  int layer = -1;                  ///< the MoE layer that it is, from the gate's choice on
};

/// Takes from a Program in which ranges are cut what a part of each op takes, where it says.
void learn_shares(const Situation& situation, const moe::Program& whole, const moe::Program& cut,
                  int parts, std::vector<ForwardOp>& ops) {
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, cut));
  const std::vector<std::size_t> forward = moe::forward_ops(whole, 0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < cut.ops.size(); ++i) {
    const moe::Op& part = cut.ops[i];
    const bool first_part = part.part.count > 1 && part.part.index == 0;
    if (!first_part || part.phase != moe::Phase::forward || part.micro_batch != 0) continue;
    // The first parts stand in the order of the whole ops.
    while (whole.ops[forward.at(next)].name != part.name ||
           whole.ops[forward[next]].layer != part.layer) {
      ++next;
    }
    ForwardOp& op = ops[next++];
    const double both_s = op.whole_s();
    op.shared_s = std::clamp((both_s - seconds[i]) / (1 - 1.0 / parts), 0.0, both_s);
    op.fixed_s = both_s - op.shared_s;
    op.cut = true;
  }
}

/// Forward ops [first, end) in groups of about equal times.
void add_groups(const std::vector<ForwardOp>& ops, std::size_t first, std::size_t end,
                std::vector<Group>& groups) {
  double all_s = 0;
  for (std::size_t i = first; i < end; ++i) all_s += ops[i].whole_s();
  double done_s = 0;
  int group = 1;
  std::size_t begin = first;
  for (std::size_t i = first; i < end; ++i) {
    done_s += ops[i].whole_s();
    if (i + 1 < end && done_s < all_s * group / kGroups) continue;
    groups.push_back({begin, i + 1});
    begin = i + 1;
    while (done_s >= all_s * group / kGroups && group < kGroups) ++group;
  }
}

/// Time of ops [first, end), as a pipeline of `parts` where there are several.
double range_seconds(const std::vector<ForwardOp>& ops, std::size_t first, std::size_t end,
                     int parts) {
  double waiting_s = 0;
  std::vector<PipelineStage> stages(1);
  bool exchanged = false;
  for (std::size_t i = first; i < end; ++i) {
    const ForwardOp& op = ops[i];
    if (parts == 1 || !op.cut) {
      waiting_s += op.whole_s();
      continue;
    }
    if (exchanged && !op.exchange) stages.emplace_back();
    (op.exchange ? stages.back().exchange_s : stages.back().compute_s) +=
        op.fixed_s + op.shared_s / parts;
    exchanged = op.exchange;
  }
  return waiting_s + pipelined_s(stages, parts);
}

}  // namespace

std::vector<moe::PartitionRange> forward_ranges(const Situation& situation,
                                                const moe::Schedule& streams) {
  const moe::Program whole = moe::apply(situation.program, streams);
  const std::int64_t sequences = moe::sequences_of(whole);
  std::vector<int> parts;
  for (int k = 2; k <= kMostParts; ++k) {
    if (sequences % k == 0) parts.push_back(k);
  }
  std::map<int, moe::PartitionReach> reaches;
  for (const int layer : moe_layers(whole)) {
    try {
      reaches.emplace(layer, moe::partition_reach(whole, layer));
    } catch (const std::invalid_argument&) {  // it stays whole
    }
  }
  if (parts.empty() || reaches.empty()) return {};

  // Costs of the parts: ranges as far as they reach, to the front and to the back.
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, whole));
  std::vector<ForwardOp> ops;
  for (const std::size_t i : moe::forward_ops(whole, 0)) {
    ops.push_back({seconds[i], 0, moe::exchanges_rows(whole.ops[i])});
  }
  for (const bool before : {true, false}) {
    moe::Schedule far = streams;
    for (const auto& [layer, reach] : reaches) {
      far.decisions.push_back(moe::PartitionRange{
          layer, parts.front(), before ? reach.ops_before : 0, before ? 0 : reach.ops_after});
    }
    learn_shares(situation, whole, moe::apply(situation.program, far), parts.front(), ops);
  }

  std::vector<Group> groups;
  std::size_t end = 0;
  for (const auto& [layer, reach] : reaches) {
    add_groups(ops, end, reach.choice, groups);
    groups.push_back({reach.choice, reach.last + 1, layer});
    end = reach.last + 1;
  }
  add_groups(ops, end, ops.size(), groups);

  const auto range_of = [&](int first, int last, int k) -> std::optional<moe::PartitionRange> {
    std::optional<moe::PartitionRange> range;
    for (int g = first; g < last; ++g) {
      const int layer = groups[static_cast<std::size_t>(g)].layer;
      if (layer < 0) continue;
      if (range) return {};  // one MoE layer each
      const moe::PartitionReach& reach = reaches.at(layer);
      range = {layer, k,
               static_cast<int>(reach.choice - groups[static_cast<std::size_t>(first)].first),
               static_cast<int>(groups[static_cast<std::size_t>(last) - 1].end - 1 - reach.last)};
      if (range->ops_before > reach.ops_before || range->ops_after > reach.ops_after) return {};
    }
    return range;
  };
  const auto price = [&](int first, int last, int k) {
    // Dense ops before and behind together: at most from one MoE layer to the next.
    if (k > 1 && (last - first > kGroups + 1 || !range_of(first, last, k))) return kNever;
    return range_seconds(ops, groups[static_cast<std::size_t>(first)].first,
                         groups[static_cast<std::size_t>(last) - 1].end, k);
  };
  std::vector<moe::PartitionRange> ranges;
  for (const InstructionRange& range : best_ranges(static_cast<int>(groups.size()), parts, price)) {
    if (range.parts > 1) ranges.push_back(*range_of(range.first, range.end, range.parts));
  }
  return ranges;
}

}  // namespace tuner
