#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Pro-Prophet's fixed policies: the two, or three, experts of a layer with most inputs to all
/// ranks, in every MoE layer, parameters and gradients where they are needed. [Pro-Prophet VI-C,
/// printed]
moe::Schedule plan_top2(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_top3(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
