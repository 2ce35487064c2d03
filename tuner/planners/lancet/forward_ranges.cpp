#include "tuner/planners/lancet/forward_ranges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "moe/errors.h"
#include "tuner/planners/lancet/lancet_equations.h"
#include "tuner/planners/lancet/layer_cuts.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The number of groups of ops between neighbouring MoE layers  [Lancet 7, hyper-parameters].
constexpr int kGroups = 5;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A part of `parts` takes fixed_s + added_s + shared_s / parts. An op that is not cut in a range
/// takes all of its time, after the parts.
struct ForwardOp {
  double fixed_s = 0, shared_s = 0;
  double added_s = 0;  ///< an op before it that exists only for parts
  bool exchange = false;
  bool cut = false;
  double whole_s() const { return fixed_s + shared_s; }
};

/// The unit of the dynamic program: ops that stay together.
struct Group {
  OpRange ops;
  int layer = -1;  ///< the MoE layer, from the gate's choice on, if the group is one; -1: none
};

/// The costs of forward ops, whole and in parts.
struct ForwardCosts {
  std::vector<ForwardOp> along_batch, along_capacity;
  /// cuts that were refused, so that no costs were learned from them
  std::vector<std::string> refusals;
};

/// The decisions that `apply` accepts, and their Program.
struct Accepted {
  std::vector<moe::Decision> decisions;
  moe::Program program;
  std::vector<std::string> refusals;
};

Accepted accepted(const Situation& situation, const moe::Schedule& streams,
                  const std::vector<moe::Decision>& decisions) {
  Accepted result;
  const auto with = [&](std::vector<moe::Decision> more) {
    moe::Schedule schedule = streams;
    append(schedule, more);
    moe::Program program = moe::apply(situation.program, schedule);
    result.decisions = std::move(more);
    result.program = std::move(program);
  };
  try {
    with(decisions);
    return result;
  } catch (const moe::Refusal&) {
    with({});  // try them one after the other
  }
  for (const moe::Decision& decision : decisions) {
    std::vector<moe::Decision> more = result.decisions;
    more.push_back(decision);
    try {
      with(std::move(more));
    } catch (const moe::Refusal& refusal) {
      result.refusals.push_back(refusal.what());
    }
  }
  return result;
}

/// A range around a layer that is cut along the batch.
moe::PartitionRange along_batch(int layer, const LayerCuts& cuts, const OpRange& range, int parts) {
  return {layer, parts, static_cast<int>(cuts.ops.first - range.first),
          static_cast<int>(range.end - cuts.ops.end)};
}
moe::PipelineSplit along_capacity(int layer, int chunks) {
  return {layer, moe::Phase::forward, chunks};
}

/// A way to cut a range, and the time of the range with it.
struct PricedCut {
  moe::Decision decision;
  double seconds = 0;
};

/// Learns the time of a part of each op from a Program in which ranges are cut.
void learn_shares(const Situation& situation, const moe::Program& whole, const moe::Program& cut,
                  std::vector<ForwardOp>& ops) {
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, cut));
  const std::vector<std::size_t> forward = moe::forward_ops(whole, 0);
  auto next = forward.begin();
  double added_s = 0;
  for (std::size_t i = 0; i < cut.ops.size(); ++i) {
    const moe::Op& part = cut.ops[i];
    const moe::Slice share = moe::share_of(part);
    const bool first_piece = share.count > 1 && share.index == 0;
    if (!first_piece || part.phase != moe::Phase::forward || part.micro_batch != 0) continue;
    // The first parts stand in the order of the whole ops, except ops that exist only for parts.
    const auto same = std::find_if(next, forward.end(), [&](std::size_t op) {
      return whole.ops[op].name == part.name && whole.ops[op].layer == part.layer;
    });
    if (same == forward.end()) {
      added_s += seconds[i];
      continue;
    }
    next = same + 1;
    ForwardOp& op = ops[same - forward.begin()];
    op.added_s = std::exchange(added_s, 0);
    const double both_s = op.whole_s();
    op.shared_s = std::clamp((both_s - seconds[i]) / (1 - 1.0 / share.count), 0.0, both_s);
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
    groups.push_back({{begin, i + 1}});
    begin = i + 1;
    while (done_s >= all_s * group / kGroups && group < kGroups) ++group;
  }
}

/// The time of ops [first, end), as a pipeline of `parts` where there are several.
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
        op.fixed_s + op.added_s + op.shared_s / parts;
    exchanged = op.exchange;
  }
  return waiting_s + pipelined_s(stages, parts);
}

/// The costs of parts. Those along the batch come from ranges that reach as far as possible in both
/// directions.
ForwardCosts forward_costs(const Situation& situation, const moe::Schedule& streams,
                           const moe::Program& whole, const std::map<int, LayerCuts>& layers) {
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, whole));
  std::vector<ForwardOp> ops;
  for (const std::size_t i : moe::forward_ops(whole, 0)) {
    ops.push_back({.fixed_s = seconds[i], .exchange = moe::exchanges_rows(whole.ops[i])});
  }
  std::vector<moe::Decision> front, back, chunked;
  for (const auto& [layer, cut] : layers) {
    if (cut.far) {
      front.emplace_back(along_batch(layer, cut, {cut.far->first, cut.ops.end}, cut.parts.front()));
      back.emplace_back(along_batch(layer, cut, {cut.ops.first, cut.far->end}, cut.parts.front()));
    }
    if (!cut.chunks.empty()) chunked.emplace_back(along_capacity(layer, cut.chunks.front()));
  }
  ForwardCosts costs{ops, ops, {}};
  const auto learn = [&](const std::vector<moe::Decision>& decisions,
                         std::vector<ForwardOp>& forward_ops) {
    if (decisions.empty()) return;
    const Accepted cut = accepted(situation, streams, decisions);
    learn_shares(situation, whole, cut.program, forward_ops);
    costs.refusals.insert(costs.refusals.end(), cut.refusals.begin(), cut.refusals.end());
  };
  learn(front, costs.along_batch);
  learn(back, costs.along_batch);
  learn(chunked, costs.along_capacity);
  return costs;
}

std::vector<Group> instruction_groups(const std::vector<ForwardOp>& ops,
                                      const std::map<int, LayerCuts>& layers) {
  std::vector<Group> groups;
  std::size_t end = 0;
  for (const auto& [layer, cut] : layers) {
    add_groups(ops, end, cut.ops.first, groups);
    groups.push_back({cut.ops, layer});
    end = cut.ops.end;
  }
  add_groups(ops, end, ops.size(), groups);
  return groups;
}

}  // namespace

ForwardRanges forward_ranges(const Situation& situation, const moe::Schedule& streams,
                             int most_parts) {
  const moe::Program whole = moe::apply(situation.program, streams);
  ForwardRanges ranges;
  std::map<int, LayerCuts> layers = layer_cuts(whole, most_parts);
  for (const auto& [layer, cuts] : layers) {
    if (!cuts.obstacle.empty()) ranges.obstacles.emplace(layer, cuts.obstacle);
  }
  std::erase_if(layers,
                [](const auto& entry) { return !entry.second.far && entry.second.chunks.empty(); });
  const ForwardCosts costs = forward_costs(situation, streams, whole, layers);
  const std::vector<Group> groups = instruction_groups(costs.along_batch, layers);

  const auto range_of = [&](int first, int end) {
    return OpRange{groups[first].ops.first, groups[static_cast<std::size_t>(end) - 1].ops.end};
  };
  // The fastest way to cut groups [first, end) into k parts that their axes allow.
  const auto cut_of = [&](int first, int end, int k) -> std::optional<PricedCut> {
    int layer = -1;
    for (int g = first; g < end; ++g) {
      const int of_group = groups[g].layer;
      if (of_group >= 0 && layer >= 0) return {};  // one MoE layer each
      layer = std::max(layer, of_group);
    }
    if (layer < 0) return {};
    const LayerCuts& cut = layers.at(layer);
    const OpRange range = range_of(first, end);
    std::optional<PricedCut> best;
    if (cut.far && cut.far->first <= range.first && range.end <= cut.far->end &&
        std::ranges::count(cut.parts, k) > 0) {
      best = PricedCut{along_batch(layer, cut, range, k),
                       range_seconds(costs.along_batch, range.first, range.end, k)};
    }
    if (end - first == 1 && std::ranges::count(cut.chunks, k) > 0) {
      const double seconds = range_seconds(costs.along_capacity, range.first, range.end, k);
      if (!best || seconds < best->seconds) best = PricedCut{along_capacity(layer, k), seconds};
    }
    return best;
  };
  const auto price = [&](int first, int end, int k) {
    if (k == 1) {
      const OpRange range = range_of(first, end);
      return range_seconds(costs.along_batch, range.first, range.end, 1);
    }
    // Dense ops before and after the layer, at most from one MoE layer to the next.
    if (end - first > kGroups + 1) return kNever;
    const std::optional<PricedCut> cut = cut_of(first, end, k);
    return cut ? cut->seconds : kNever;
  };
  std::vector<int> parts(static_cast<std::size_t>(most_parts) - 1);
  std::iota(parts.begin(), parts.end(), 2);
  std::vector<moe::Decision> planned;
  for (const InstructionRange& range : best_ranges(static_cast<int>(groups.size()), parts, price)) {
    if (range.parts > 1) planned.push_back(cut_of(range.first, range.end, range.parts)->decision);
  }
  // Cuts are those of the first micro-batch, and may be more than `apply` allows.
  Accepted kept = accepted(situation, streams, planned);
  ranges.cuts = std::move(kept.decisions);
  kept.refusals.insert(kept.refusals.begin(), costs.refusals.begin(), costs.refusals.end());
  for (std::string& why : kept.refusals) {
    const bool said = std::ranges::find(ranges.refused, why) != ranges.refused.end();
    if (!said) ranges.refused.push_back(std::move(why));
  }
  return ranges;
}

}  // namespace tuner
