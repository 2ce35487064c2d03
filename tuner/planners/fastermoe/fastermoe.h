#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// FasterMoE: popular experts shadowed on all ranks (fastermoe_equations.h), and its smart schedule, in which ranks
/// exchange rows with one group of four ranks after another, on a stream beside the experts.      [FasterMoE, code]
///
/// FasterMoE computes on what one group has sent while the next sends. Behind the steps of the `pairwise` route experts
/// wait for all; as many chunks as groups, exchanged with everybody at once, overlap as FasterMoE does. Whatever
/// simulates fastest, shadows alone among them, is taken.
moe::Schedule plan_fastermoe(const Situation& situation, const PlannerOptions& options);

/// Shadows alone, with exchanges by groups, and in chunks.
std::vector<Candidate> fastermoe_candidates(const Situation& situation,
                                            const PlannerOptions& options);

}  // namespace tuner
