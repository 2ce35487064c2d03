#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Chunks of every MoE layer, forward and backward.
struct Degrees {
  int forward = 1;
  int backward = 1;
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

/// The MoE layers of a Program, ascending.
std::vector<int> moe_layers(const moe::Program& program);

/// The stream for communication inside a node: the exchanges of ranks that share an expert, and the
/// legs of an exchange that stay inside a node.
enum class InNode {
  with_the_rest,  ///< the one stream of communication
  beside,         ///< a stream of its own
};

/// Cuts all MoE layers alike and puts the all-to-all on the inter_node stream beside the experts,
/// with all other exchanges of rows unless `in_node` says otherwise. So do Tutel and PipeMoE [FSMoE
/// 6.1: both on one communication stream]. Gradients are all-reduced after backward.
moe::Schedule pipeline_schedule(const moe::Program& program, std::string planner, Degrees degrees,
                                InNode in_node = InNode::with_the_rest);

/// The same with all-reduces on the inter_node stream, if there are any. Planners of gradients
/// start from it.
moe::Schedule pipeline_with_gradients(const moe::Program& program, std::string planner,
                                      Degrees degrees, InNode in_node = InNode::with_the_rest);

/// The degrees of the first MoE layer that a schedule cuts; {1, 1} where it cuts none. A range
/// along the batch has equally many parts in both phases.
Degrees degrees_of(const moe::Schedule& schedule);

/// {"forward_chunks": 4, "backward_chunks": 2}
std::string degrees_json(const moe::Schedule& schedule);

/// The time of a scheduled Program outside the pipelines of its MoE layers, op after op. Between
/// pipelines, gradients on a stream of their own are all-reduced beside other ops; after backward
/// nothing runs beside them. `alone_s`: of every op (alone_seconds).
double outside_pipelines_s(const moe::Program& program, const std::vector<double>& alone_s);

/// The closed form of an iteration under `schedule`. Every phase of every MoE layer counts by
/// FSMoE's equations (fsmoe_equations.h; PipeMoE's are those with t_ag = t_rs = t_gar = 0) from the
/// times of its pipeline (pipeline_times.h). All else counts op after op, except gradients that are
/// all-reduced on a stream of their own between pipelines, beside the ops there. It is also used
/// for Tutel and other planners that publish no closed form.
double pipelined_iteration_s(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
