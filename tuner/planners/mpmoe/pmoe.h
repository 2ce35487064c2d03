#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// PMoE: MPMoE's pipeline with no memory shared, its baseline [MPMoE 5.4]: n chunks of every MoE layer, forward and
/// backward alike, n = 1 .. options.most_chunks by simulation, until it rises [MPMoE 4.1: time over n is parabola-like].
/// Its closed form is paradigm 1 of MPMoE's performance model (mpmoe/performance_model.h).
moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options);

/// Its own choice.
std::vector<Candidate> pmoe_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
