#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kRanksPerGroup{
    "ranks_per_group", 1, 4096, "ranks that exchange rows at a time, at most half of them [4]"};

/// FasterMoE: popular experts are shadowed on all ranks (fastermoe_equations.h). In its smart
/// schedule ranks exchange rows with one group of four ranks after another, on a stream beside the
/// experts.
///                                                                                [FasterMoE, code]
/// FasterMoE computes the rows of one group while the next group sends. The steps of the `pairwise`
/// route cannot do that: experts wait for all of them. Chunks that are exchanged by groups can. The
/// planner takes the fastest by simulation, shadows alone among them.
moe::Schedule plan_fastermoe(const Situation& situation, const PlannerOptions& options);

/// Candidates have shadows alone, and shadows with exchanges by groups.
std::vector<Candidate> fastermoe_candidates(const Situation& situation,
                                            const PlannerOptions& options);

}  // namespace tuner
