#pragma once

#include <string>

#include "tuner/planners/planners.h"

/// Pro-Prophet in the three forms of its ablation [Pro-Prophet VI-C, Fig. 14: each adds to the one before]. The placement
/// of every MoE layer is found by its greedy search (greedy_placement.h), from the routing of the situation: in training
/// that of an iteration before, its locality-based planner. Plan, which the paper's scheduler hides in the all-to-all of the
/// iteration before, is done by the host between iterations and takes microseconds (`planning_time`): no op stands for
/// it.
namespace tuner {

/// The planner alone: the search goes by Eq. 6. Parameters go out before the layer and gradients home after backward,
/// on the one stream there is.
moe::Schedule plan_pro_prophet_planner(const Situation& situation, const PlannerOptions& options);
/// The same placements, transfers beside what neighbouring blocks compute (hidden_transfers.h).
moe::Schedule plan_pro_prophet_scheduler(const Situation& situation, const PlannerOptions& options);
/// The search knows of that: it goes by Eq. 8.                                                [Pro-Prophet V-C]
moe::Schedule plan_pro_prophet(const Situation& situation, const PlannerOptions& options);

/// Eq. 8 for every layer.
double overlapped_iteration_s(const Situation& situation, const moe::Schedule& schedule);

std::vector<Candidate> pro_prophet_planner_candidates(const Situation& situation,
                                                      const PlannerOptions& options);
std::vector<Candidate> pro_prophet_scheduler_candidates(const Situation& situation,
                                                        const PlannerOptions& options);
std::vector<Candidate> pro_prophet_candidates(const Situation& situation,
                                              const PlannerOptions& options);

}  // namespace tuner
