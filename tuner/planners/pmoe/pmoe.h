#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// PMoE: MPMoE's pipeline with no memory shared, its baseline [MPMoE 5.4]: n chunks of every MoE layer, forward and
/// backward alike, n = 1 .. options.most_chunks by simulation, until it rises [MPMoE 4.1: time over n is parabola-like].
moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options);

/// MPMoE's performance model (mpmoe/performance_model.h), its paradigm 1.
double pmoe_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// Its own choice.
std::vector<Candidate> pmoe_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
