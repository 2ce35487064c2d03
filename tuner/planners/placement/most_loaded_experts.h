#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// Positions by descending load; equal loads in their order.
std::vector<int> most_loaded(std::span<const std::int64_t> loads);

/// A placement of these experts on all members of their group: FasterMoE's shadowing, Pro-Prophet's
/// top2 and top3. `homes` are those of all experts. Empty where a group has one member.
moe::ExpertPlacement on_all_members(std::span<const int> experts, std::span<const int> homes,
                                    int members);

}  // namespace tuner
