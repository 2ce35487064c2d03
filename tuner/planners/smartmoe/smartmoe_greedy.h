#pragma once

#include <cstdint>
#include <span>

#include "moe/rows/expert_placement.h"

namespace tuner {

/// SmartMoE's greedy placement: packed_homes (placement/packed_homes.h) where that lowers the
/// largest load of a member, else the homes that experts have now. [SmartMoE, code] Throws as
/// packed_homes.
moe::ExpertHomes smartmoe_homes(std::span<const std::int64_t> loads, const moe::ExpertHomes& now,
                                int members);

}  // namespace tuner
