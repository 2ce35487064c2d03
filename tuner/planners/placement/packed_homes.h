#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// Goes through the experts by descending load (equal loads: in their order) and puts each on the
/// least loaded member that has a free slot (equal loads: the first). Every member has as many slots
/// as `slots` says, together one for each expert. [SmartMoE, code; EPLB's balanced packing, code]
/// Throws std::invalid_argument where they are fewer or more.
moe::ExpertHomes packed_homes(std::span<const std::int64_t> loads, std::span<const int> slots);

/// [member]: the load of the experts whose home it is.
std::vector<std::int64_t> loads_of_members(std::span<const std::int64_t> loads,
                                           std::span<const int> homes, int members);

}  // namespace tuner
