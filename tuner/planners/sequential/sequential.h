#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The empty schedule: every op on one stream, nothing overlapped, gradients all-reduced at the
/// end, as DeepSpeed-MoE trains. Every speed-up is relative to it.
moe::Schedule plan_sequential(const Situation& situation, const PlannerOptions& options);

/// The sum of all ops, each on its slowest rank.
double sequential_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
