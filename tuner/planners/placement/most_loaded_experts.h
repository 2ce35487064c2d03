#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// Positions by descending load, of equals the first first.
std::vector<int> most_loaded(std::span<const std::int64_t> loads);

/// Each of these experts on all members of its group: FasterMoE's shadowing, Pro-Prophet's top2 and
/// top3. `homes`: of all experts. Without any where a group has one member.
moe::ExpertPlacement on_all_members(std::span<const int> experts, std::span<const int> homes,
                                    int members);

}  // namespace tuner
