#include "tuner/planners/smartmoe/smartmoe_greedy.h"

#include <algorithm>

#include "tuner/planners/placement/packed_homes.h"

namespace tuner {

moe::ExpertHomes smartmoe_homes(std::span<const std::int64_t> loads, const moe::ExpertHomes& now,
                                int members) {
  const auto largest = [&](const moe::ExpertHomes& placed) {
    const auto of_members = loads_of_members(loads, placed, members);
    return *std::max_element(of_members.begin(), of_members.end());
  };
  moe::ExpertHomes homes = packed_homes(loads, members);
  return largest(homes) < largest(now) ? homes : now;
}

}  // namespace tuner
