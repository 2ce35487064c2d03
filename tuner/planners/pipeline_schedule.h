#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// Chunks of every MoE layer, forward and backward.
struct Degrees {
  int forward = 1;
  int backward = 1;
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

/// MoE layers of a Program, ascending.
std::vector<int> moe_layers(const moe::Program& program);

/// Where a pipeline sends what stays inside a node: what ranks that share an expert exchange, legs of an exchange.
enum class InNode {
  with_the_rest,  ///< the one stream of communication
  beside,         ///< a stream of its own
};

/// All MoE layers cut alike, all-to-all on the inter_node stream beside the experts, and all other exchanges of rows
/// on it as well unless told otherwise. What Tutel and PipeMoE do [FSMoE 6.1: both on one communication stream]; the
/// gradients are all-reduced where they stand, after backward.
moe::Schedule pipeline_schedule(const moe::Program& program, std::string planner, Degrees degrees,
                                InNode in_node = InNode::with_the_rest);

/// The degrees of the first MoE layer of a schedule; {1, 1} where nothing is cut.
Degrees degrees_of(const moe::Schedule& schedule);

Candidate pipeline_candidate(const moe::Program& program, std::string planner, Degrees degrees);

/// Closed form of an iteration under `schedule`: every phase of every MoE layer by
/// pipelined_layer_s (pipemoe_equations.h) from the mean times of its chunks on their slowest rank,
/// and everything else one after another. What the experts compute is told by its tensors: rows
/// that they received. Where ranks share experts (ESP), what they exchange of a chunk counts with its all-to-all, as on
/// one stream.
double pipelined_iteration_s(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
