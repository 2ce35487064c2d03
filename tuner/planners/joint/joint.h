#pragma once

#include <string>
#include <vector>

#include "tuner/planners/planners.h"

namespace tuner {

/// All decisions together: from what every other planner plans, by search (joint_search.h) over what they decide,
/// over the chunks of phases and layers, and with weight gradients (Lancet's) and all-reduces (FSMoE's) planned anew
/// for what has been found; by simulation, within the memory of a rank where the cluster says how much that is. In
/// prediction never worse than any of them.  [ours]
moe::Schedule plan_joint(const Situation& situation, const PlannerOptions& options);

std::vector<Candidate> joint_candidates(const Situation& situation, const PlannerOptions& options);

/// What it began with, how far it is from the lower bound, and what it would take without each of the things that it
/// decides.
std::string joint_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

}  // namespace tuner
