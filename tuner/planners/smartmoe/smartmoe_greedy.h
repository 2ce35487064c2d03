#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// Experts by descending load, of equals the first, each to the least loaded member with a free slot (as many for each
/// member), of equals the first.                                              [SmartMoE, code; EPLB's balanced packing, code]
/// Throws std::invalid_argument where `members` does not divide the experts.
moe::ExpertHomes packed_homes(std::span<const std::int64_t> loads, int members);

/// SmartMoE's placement by greed: packed_homes, taken where the largest load of a member falls by it, else as experts are
/// now.                                                                                           [SmartMoE, code]
/// Throws as packed_homes.
moe::ExpertHomes smartmoe_homes(std::span<const std::int64_t> loads, const moe::ExpertHomes& now,
                                int members);

/// [member]: of the experts that are there.
std::vector<std::int64_t> loads_of_members(std::span<const std::int64_t> loads,
                                           std::span<const int> homes, int members);

}  // namespace tuner
