#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr std::string_view kJoint = "joint";

inline constexpr PlannerOption kMostTried{
    "most_tried", 1, 1e6, "schedules that the search simulates [40 to 600, by the model's size]"};

/// Makes all decisions together. A search (joint_search.h) starts from the plans of all other
/// planners. It exchanges their decisions, changes the chunks of phases and layers, and plans
/// weight gradients (Lancet's) and all-reduces (FSMoE's) anew for the schedules that it finds. It
/// simulates all iterations of the situation, and keeps to the memory of a rank where the cluster
/// states it. In prediction it is never worse than any planner of `others`, and in the slowest
/// iteration never worse than the best of them. Those that refuse the situation are left out. Where
/// none of their plans fits the memory, the result is the plan that needs least. [ours]
moe::Schedule plan_joint(const Situation& situation, const PlannerOptions& options,
                         std::span<const Planner> others);

/// The same from one schedule alone, for large Programs: with all MoE layers cut alike, gradients
/// planned anew, and shard_optimizer; of the order of micro-batches and the stages it changes
/// nothing. It tries 24 schedules unless asked for another number. [ours]
moe::Schedule plan_joint_from(const Situation& situation, const PlannerOptions& options,
                              const moe::Schedule& start);

/// Says how far the schedule is from its lower bound, and how long it would take without each of
/// its aspects; or that nothing fits the memory of a rank.
std::string joint_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

}  // namespace tuner
