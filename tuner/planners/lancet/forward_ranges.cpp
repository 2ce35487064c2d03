#include "tuner/planners/lancet/forward_ranges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "tuner/planners/lancet/lancet_equations.h"
#include "tuner/planners/lancet/range_axes.h"
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
  OpRange ops;
  int layer = -1;  ///< the MoE layer that it is, from the gate's choice on
};

/// A MoE layer that can be cut: along the batch, with `far` as far as that reaches, or else along capacity alone.
struct CutLayer {
  MoeOps ops;
  std::optional<OpRange> far{};
  int parts = 0;  ///< the least number of pieces
};

/// A range around a layer that is cut along the batch.
moe::PartitionRange along_batch(int layer, const MoeOps& around, const OpRange& range, int parts) {
  return {layer, parts, static_cast<int>(around.layer.first - range.first),
          static_cast<int>(range.end - around.layer.end)};
}
moe::PipelineSplit along_capacity(int layer, int chunks) {
  return {layer, moe::Phase::forward, chunks};
}

/// Takes from a Program in which ranges are cut what a piece of each op takes, where it says.
void learn_shares(const Situation& situation, const moe::Program& whole, const moe::Program& cut,
                  std::vector<ForwardOp>& ops) {
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, cut));
  const std::vector<std::size_t> forward = moe::forward_ops(whole, 0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < cut.ops.size(); ++i) {
    const moe::Op& part = cut.ops[i];
    const moe::Slice piece = moe::piece_of(part);
    const bool first_piece = piece.count > 1 && piece.index == 0;
    if (!first_piece || part.phase != moe::Phase::forward || part.micro_batch != 0) continue;
    // The first pieces stand in the order of the whole ops.
    while (whole.ops[forward.at(next)].name != part.name ||
           whole.ops[forward[next]].layer != part.layer) {
      ++next;
    }
    ForwardOp& op = ops[next++];
    const double both_s = op.whole_s();
    op.shared_s = std::clamp((both_s - seconds[i]) / (1 - 1.0 / piece.count), 0.0, both_s);
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

/// By layer, those whose partition axes allow a cut into some number of pieces.
std::map<int, CutLayer> layers_to_cut(const moe::Program& program, RangeAxes& axes) {
  std::map<int, CutLayer> layers;
  for (const int layer : moe_layers(program)) {
    CutLayer cut{axes.moe_ops(layer)};
    for (int k = 2; k <= kMostParts && !cut.far; ++k) {
      cut.far = axes.reach(layer, k);
      const bool along_rows =
          cut.parts == 0 && axes.legal({layer, cut.ops.routed, k, kCapacityAxes});
      if (cut.far || along_rows) cut.parts = k;
    }
    if (cut.parts > 0) layers.emplace(layer, cut);
  }
  return layers;
}

/// Costs of pieces, from ranges as far as they reach, to the front and to the back.
std::vector<ForwardOp> forward_costs(const Situation& situation, const moe::Schedule& streams,
                                     const moe::Program& whole,
                                     const std::map<int, CutLayer>& layers) {
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, whole));
  std::vector<ForwardOp> ops;
  for (const std::size_t i : moe::forward_ops(whole, 0)) {
    ops.push_back({seconds[i], 0, moe::exchanges_rows(whole.ops[i])});
  }
  for (const bool before : {true, false}) {
    moe::Schedule far = streams;
    for (const auto& [layer, cut] : layers) {
      if (cut.far) {
        const OpRange range = before ? OpRange{cut.far->first, cut.ops.layer.end}
                                     : OpRange{cut.ops.layer.first, cut.far->end};
        far.decisions.push_back(along_batch(layer, cut.ops, range, cut.parts));
      } else {
        far.decisions.push_back(along_capacity(layer, cut.parts));
      }
    }
    learn_shares(situation, whole, moe::apply(situation.program, far), ops);
  }
  return ops;
}

std::vector<Group> instruction_groups(const std::vector<ForwardOp>& ops,
                                      const std::map<int, CutLayer>& layers) {
  std::vector<Group> groups;
  std::size_t end = 0;
  for (const auto& [layer, cut] : layers) {
    add_groups(ops, end, cut.ops.layer.first, groups);
    groups.push_back({cut.ops.layer, layer});
    end = cut.ops.layer.end;
  }
  add_groups(ops, end, ops.size(), groups);
  return groups;
}

}  // namespace

std::vector<moe::Decision> forward_ranges(const Situation& situation,
                                          const moe::Schedule& streams) {
  const moe::Program whole = moe::apply(situation.program, streams);
  RangeAxes axes(whole);
  const std::map<int, CutLayer> layers = layers_to_cut(whole, axes);
  if (layers.empty()) return {};
  const std::vector<ForwardOp> ops = forward_costs(situation, streams, whole, layers);
  const std::vector<Group> groups = instruction_groups(ops, layers);

  const auto range_of = [&](int first, int end) {
    return OpRange{groups[static_cast<std::size_t>(first)].ops.first,
                   groups[static_cast<std::size_t>(end) - 1].ops.end};
  };
  // Of groups [first, end) in k pieces, where their axes allow that.
  const auto cut_of = [&](int first, int end, int k) -> std::optional<moe::Decision> {
    int layer = -1;
    for (int g = first; g < end; ++g) {
      const int of_group = groups[static_cast<std::size_t>(g)].layer;
      if (of_group >= 0 && layer >= 0) return {};  // one MoE layer each
      layer = std::max(layer, of_group);
    }
    if (layer < 0) return {};
    const CutLayer& cut = layers.at(layer);
    if (cut.far) {
      const OpRange range = range_of(first, end);
      if (!axes.legal({layer, range, k})) return {};
      return along_batch(layer, cut.ops, range, k);
    }
    if (end - first > 1 || !axes.legal({layer, cut.ops.routed, k, kCapacityAxes})) return {};
    return along_capacity(layer, k);
  };
  const auto price = [&](int first, int end, int k) {
    // Dense ops before and behind together: at most from one MoE layer to the next.
    if (k > 1 && (end - first > kGroups + 1 || !cut_of(first, end, k))) return kNever;
    const OpRange range = range_of(first, end);
    return range_seconds(ops, range.first, range.end, k);
  };
  std::vector<int> parts(kMostParts - 1);
  std::iota(parts.begin(), parts.end(), 2);
  std::vector<moe::Decision> ranges;
  for (const InstructionRange& range : best_ranges(static_cast<int>(groups.size()), parts, price)) {
    if (range.parts > 1) ranges.push_back(*cut_of(range.first, range.end, range.parts));
  }
  return ranges;
}

}  // namespace tuner
