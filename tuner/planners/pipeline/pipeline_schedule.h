#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Chunks of every MoE layer, forward and backward.
struct Degrees {
  int forward = 1;
  int backward = 1;
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

/// MoE layers of a Program, ascending.
std::vector<int> moe_layers(const moe::Program& program);

/// Where a pipeline sends what stays inside a node: what ranks that share an expert exchange, legs
/// of an exchange.
enum class InNode {
  with_the_rest,  ///< the one stream of communication
  beside,         ///< a stream of its own
};

/// All MoE layers cut alike, all-to-all on the inter_node stream beside the experts, and all other
/// exchanges of rows on it as well unless told otherwise. What Tutel and PipeMoE do [FSMoE 6.1:
/// both on one communication stream]; the gradients are all-reduced where they stand, after
/// backward.
moe::Schedule pipeline_schedule(const moe::Program& program, std::string planner, Degrees degrees,
                                InNode in_node = InNode::with_the_rest);

/// The same with gradients all-reduced on the inter_node stream, where there are any: what the
/// planners of gradients start from.
moe::Schedule pipeline_with_gradients(const moe::Program& program, std::string planner,
                                      Degrees degrees, InNode in_node = InNode::with_the_rest);

/// The degrees of the first MoE layer that a schedule cuts, {1, 1} where it cuts none: a range
/// along the batch has both phases in as many parts.
Degrees degrees_of(const moe::Schedule& schedule);

/// {"forward_chunks": 4, "backward_chunks": 2}
std::string degrees_json(const moe::Schedule& schedule);

/// A schedule as a candidate that its degrees tell from others.
Candidate degrees_candidate(moe::Schedule schedule);
Candidate pipeline_candidate(const moe::Program& program, std::string planner, Degrees degrees);

/// What a scheduled Program does outside the pipelines of its MoE layers, one after another.
/// Between pipelines gradients on a stream of their own are reduced beside whatever there is; after
/// backward nothing is beside them. `costs` by op.
double outside_pipelines_s(const Situation& situation, const moe::Program& program,
                           const std::vector<OpCost>& costs);

/// Closed form of an iteration under `schedule`: every phase of every MoE layer by FSMoE's
/// equations (fsmoe/fsmoe_equations.h; PipeMoE's are those with t_ag = t_rs = t_gar = 0) from the
/// times of its pipeline (pipeline_times.h), and everything else one after another, but for
/// gradients that are reduced on a stream of their own between pipelines: these beside all that
/// stands there. Of Tutel and its like, too, which publish none.
double pipelined_iteration_s(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
