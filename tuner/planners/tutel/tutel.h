#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// Tutel: the user fixes one degree R (options.degree, default 2); dispatch, experts and combine of
/// R chunks overlap, all-to-all on one stream of its own, the same R forward and backward;
/// gradients are all-reduced after backward.      [FSMoE's baseline as its authors ran it, code]
moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options);

/// The degree asked for, or 1 to 4, and 8 where most_chunks allows.
std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
