#pragma once

#include <cstddef>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Pro-Prophet's fixed policies, top2 and top3: in every MoE layer the `count` experts with most
/// inputs are sent to all ranks, and their gradients come home [Pro-Prophet VI-C, printed].
/// Transfers stand in their place, or as Pro-Prophet's scheduler hides them
/// (placement/hidden_transfers.h).
std::vector<Candidate> top_candidates(const Situation& situation, std::size_t count);

}  // namespace tuner
