#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// PMoE: MPMoE's pipeline without shared buffers, its baseline [MPMoE 5.4]. Every MoE layer is cut
/// into n chunks, forward and backward. n is the degree that was asked for. Otherwise 1, 2, ... are
/// simulated up to the most chunks, until the time rises [MPMoE 4.1: time over n is like a
/// parabola]. Its closed form is paradigm 1 of MPMoE's performance model (performance_model.h).
moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
