#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Pro-Prophet's fixed policies: in every MoE layer the two, or three, experts with most inputs are
/// sent to all ranks, and their gradients come home. [Pro-Prophet VI-C, printed]
moe::Schedule plan_top2(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_top3(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
