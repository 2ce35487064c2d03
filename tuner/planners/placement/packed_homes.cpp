#include "tuner/planners/placement/packed_homes.h"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "tuner/planners/placement/most_loaded_experts.h"

namespace tuner {

std::vector<std::int64_t> loads_of_members(std::span<const std::int64_t> loads,
                                           std::span<const int> homes, int members) {
  std::vector<std::int64_t> of_members(static_cast<std::size_t>(members), 0);
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    of_members[homes[expert]] += loads[expert];
  }
  return of_members;
}

moe::ExpertHomes packed_homes(std::span<const std::int64_t> loads, std::span<const int> slots) {
  const int all = std::accumulate(slots.begin(), slots.end(), 0);
  if (all != static_cast<int>(loads.size())) {
    throw std::invalid_argument(
        fmt::format("packed_homes: {} experts in {} slots", loads.size(), all));
  }
  moe::ExpertHomes homes(loads.size(), 0);
  std::vector<int> taken(slots.size(), 0);
  std::vector<std::int64_t> load(taken.size(), 0);
  for (const int expert : most_loaded(loads)) {
    std::size_t least = taken.size();
    for (std::size_t member = 0; member < taken.size(); ++member) {
      if (taken[member] == slots[member]) continue;
      if (least == taken.size() || load[member] < load[least]) least = member;
    }
    homes[expert] = static_cast<int>(least);
    load[least] += loads[expert];
    ++taken[least];
  }
  return homes;
}

}  // namespace tuner
