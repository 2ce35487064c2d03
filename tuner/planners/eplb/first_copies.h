#pragma once

#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// Of every expert one of the members that have a copy of it, so that each member is the home of as
/// many: where the expert is at home now wherever that can be, so that little moves. By augmenting
/// paths, which find such a choice if there is one; an expert that is left over goes to a member
/// with room, whether it has a copy there or not. [ours] `holders`: [expert], members without
/// repetition. Throws std::invalid_argument where the members do not divide the experts.
moe::ExpertHomes first_copies(const std::vector<std::vector<int>>& holders,
                              const moe::ExpertHomes& now, int members);

}  // namespace tuner
