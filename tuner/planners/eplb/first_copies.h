#pragma once

#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// The home of every expert: one of the members that have a copy of it, so that each member is the
/// home of as many as now. Experts stay where they are now wherever that is possible. Augmenting
/// paths find such a choice if there is one; an expert that is left over goes to a member with
/// room, with or without a copy. [ours]
/// `holders`: [expert], members without repetition; `now`: [expert]. Throws std::invalid_argument
/// where these are of different experts, or a home is not a member.
moe::ExpertHomes first_copies(const std::vector<std::vector<int>>& holders,
                              const moe::ExpertHomes& now, int members);

}  // namespace tuner
