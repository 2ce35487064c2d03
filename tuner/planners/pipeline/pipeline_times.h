#pragma once

#include <map>
#include <utility>
#include <vector>

#include "moe/program/op.h"
#include "tuner/planners/pipeline/fsmoe_equations.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// One phase of one MoE layer of a scheduled Program as FSMoE's equations see it.
struct PipelineTimes {
  int chunks = 1;
  ChunkTimes chunk;  ///< means over chunks, each task on its slowest rank
  double gar_s = 0;  ///< all-reduces of gradients between its dispatch and its combine
  /// Expert ops after the last combine: weight gradients, for which no exchange waits.
  double trailing_s = 0;
};

/// The times of a chunk without trailing_s: only these ops keep the experts busy between dispatch
/// and combine.
ChunkTimes before_combine(const PipelineTimes& times);

using PipelineOf = std::pair<moe::RoutedLayer, moe::Phase>;

/// True for an exchange of rows, and for an op that works on rows which experts received, as its
/// tensors tell.
bool belongs_to_pipeline(const moe::Program& program, const moe::Op& op);

/// The times of every pipeline. The all-gather and reduce-scatter of ranks that share experts count
/// by themselves where they have a stream of their own; on the stream of the all-to-all they count
/// with it. `alone_s`: of every op on its slowest rank (alone_seconds).
std::map<PipelineOf, PipelineTimes> pipeline_times(const moe::Program& program,
                                                   const std::vector<double>& alone_s);
/// The same of the Program under a schedule in a planner's situation.
std::map<PipelineOf, PipelineTimes> pipeline_times(const Situation& situation,
                                                   const moe::Schedule& schedule);

}  // namespace tuner
