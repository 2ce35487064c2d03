#pragma once

#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kRanksPerGroup{
    "ranks_per_group", 1, 4096, "ranks that exchange rows at a time, at most half of them [4]"};

inline constexpr PlannerOption kReleasedShadows{
    "released", 0, 1,
    "1: as the authors' code runs it: shadows by its rule alone, which counts parameters and no "
    "gradients, and groups of 2 ranks [0]"};

/// FasterMoE: popular experts are shadowed on all ranks (fastermoe_equations.h). In its smart
/// schedule ranks exchange rows with one group of four ranks after another, on a stream beside the
/// experts.
///                                                                                [FasterMoE, code]
/// FasterMoE computes the rows of one group while the next group sends. The steps of the `pairwise`
/// route cannot do that: experts wait for all of them. Chunks that are exchanged by groups can.
/// Candidates have shadows alone, and shadows with exchanges by groups: those of a rule that counts
/// gradients and startups too (ours), and those of the code's rule. With kReleasedShadows there is
/// one: the shadows of the code's rule, and exchanges by groups of two.
std::vector<Candidate> fastermoe_candidates(const Situation& situation,
                                            const PlannerOptions& options);

}  // namespace tuner
