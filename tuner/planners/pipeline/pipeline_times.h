#pragma once

#include <map>
#include <utility>
#include <vector>

#include "moe/program/op.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/pipeline/fsmoe_equations.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// One phase of one MoE layer of a scheduled Program as FSMoE's equations see it.
struct PipelineTimes {
  int chunks = 1;
  ChunkTimes chunk;  ///< means over chunks, each task on its slowest rank
  double gar_s = 0;  ///< gradients reduced between its dispatch and its combine
  /// Of what works at the experts, behind the last combine: weight gradients, that nothing which
  /// travels waits for.
  double trailing_s = 0;
};

/// Times of a chunk without what trails: between dispatch and combine only this keeps the experts
/// busy.
ChunkTimes before_combine(const PipelineTimes& times);

using PipelineOf = std::pair<moe::RoutedLayer, moe::Phase>;

/// True for an exchange of rows, and for what works at the experts: on rows that they received, as
/// its tensors tell.
bool belongs_to_pipeline(const moe::Program& program, const moe::Op& op);

/// All-gather and reduce-scatter of ranks that share experts count by themselves where they have a
/// stream of their own, and with the all-to-all where they travel on its stream. `costs` by op.
std::map<PipelineOf, PipelineTimes> pipeline_times(const moe::Program& program,
                                                   const std::vector<OpCost>& costs,
                                                   const moe::Groups& groups,
                                                   const Cluster& cluster);
/// The same for a scheduled Program in a planner's situation.
std::map<PipelineOf, PipelineTimes> pipeline_times(const Situation& situation,
                                                   const moe::Program& scheduled);

}  // namespace tuner
