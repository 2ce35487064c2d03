#include "tuner/planners/placement/most_loaded_experts.h"

#include <algorithm>

namespace tuner {

std::vector<int> most_loaded(std::span<const std::int64_t> loads) {
  // Counts for each position how many come before it. This has no branch, and takes a fifth of the
  // time of sorting the tens of devices and experts that there are.
  constexpr int bits_of_position = 20;
  std::vector<std::int64_t> keys;  // no two alike
  keys.reserve(loads.size());
  for (const std::int64_t load : loads) {
    keys.push_back((load << bits_of_position) - static_cast<std::int64_t>(keys.size()));
  }
  std::vector<int> order(loads.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::int64_t before = 0;
    for (const std::int64_t key : keys) before += key > keys[i] ? 1 : 0;
    order[before] = static_cast<int>(i);
  }
  return order;
}

moe::ExpertPlacement on_all_members(std::span<const int> experts, std::span<const int> homes,
                                    int members) {
  moe::ExpertPlacement placement;
  if (members < 2) return placement;
  for (const int expert : experts) {
    moe::ReplicatedExpert& replica = placement.replicas.emplace_back();
    replica.expert = expert;
    for (int member = 0; member < members; ++member) {
      if (member != homes[expert]) replica.holders.push_back(member);
    }
  }
  std::sort(placement.replicas.begin(), placement.replicas.end());
  return placement;
}

}  // namespace tuner
