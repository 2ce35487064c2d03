#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/planners/gradients/placed_gradients.h"
#include "tuner/planners/pipeline/best_degrees.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// FSMoE: communication between nodes and inside nodes have streams of their own beside the
/// experts. Gradients are all-reduced in slices where the inter-node stream is idle: after the last
/// dispatch, and beside dense layers. There are five ways to plan: one degree forward and one
/// backward for all layers with either fill, with gradients of blocks whole as Tutel-Improved has
/// them, or with gradients after backward as PipeMoE has them; and each layer's own degrees by the
/// paper's algorithms. FSMoE-No-IIO is the same with one stream for all communication. [FSMoE 6.1]
std::vector<Candidate> fsmoe_candidates(const Situation& situation, const PlannerOptions& options,
                                        InNode in_node);

/// FSMoE's Algorithm 1 for a phase: the best degree by moe_phase_s, of all from 1 to most. [The
/// paper solves each case by SLSQP and rounds, which comes to the same or worse.]
ChosenDegree degree_by_equations(const MoePhase& phase, int most);

/// The paper's schedule. Algorithm 1 chooses each layer's degrees: forward without gradients,
/// backward with the gradients that steps 1 and 2 give it. Step 2 takes its times from Algorithm 1.
moe::Schedule fsmoe_schedule_by_equations(const Situation& situation, int most_chunks,
                                          InNode in_node);

/// Every phase of every MoE layer for the equations: the startup and volume of each task, from the
/// times of the uncut layer and of its halves.
std::map<PipelineOf, MoePhase> moe_phases(const Situation& situation, InNode in_node);

/// The degrees of its schedule beside those of the paper's algorithms.
std::string fsmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

}  // namespace tuner
