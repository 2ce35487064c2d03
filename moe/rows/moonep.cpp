#include <algorithm>
#include <cstddef>
#include <utility>

#include "moe/rows/late_planning.h"

namespace moe {
namespace {

/// Rows that a member takes from one home.
struct Quota {
  int to = 0;
  std::int64_t rows = 0;
};

/// [home]: what others take from it, by member, so that all compute equally many rows.
std::vector<std::vector<Quota>> quotas_from_homes(const LatePlanning& planning) {
  const auto members = static_cast<int>(planning.load.size());
  const std::int64_t total = planning.total();
  std::vector<std::int64_t> over;  // [member]: rows above its share
  for (int member = 0; member < members; ++member) {
    const std::int64_t share = total / members + (member < total % members ? 1 : 0);
    over.push_back(planning.load[member] - share);
  }
  std::vector<std::vector<Quota>> from(planning.load.size());
  while (*std::ranges::max_element(over) > 0) {
    const auto home = std::ranges::max_element(over) - over.begin();
    const auto to = static_cast<int>(std::ranges::min_element(over) - over.begin());
    from[home].push_back({to, -over[to]});
    over[home] += over[to];
    over[to] = 0;
  }
  for (auto& quotas : from) std::ranges::sort(quotas, {}, &Quota::to);
  return from;
}

}  // namespace

LatePlanning plan_moonep(LatePlanning planning) {
  std::vector<std::vector<Quota>> from = quotas_from_homes(planning);
  for (int home = 0; home < static_cast<int>(from.size()); ++home) {
    std::vector<std::int64_t> rest;
    const std::span<const int> experts = planning.home->at(home);
    for (const int expert : experts) rest.push_back(planning.home->rows[expert]);
    for (;;) {
      const auto quota = std::ranges::max_element(from[home], {}, &Quota::rows);
      if (quota == from[home].end() || quota->rows == 0) break;
      const auto largest = std::ranges::max_element(rest);
      const int expert = experts[static_cast<std::size_t>(largest - rest.begin())];
      if (*largest == 0 || planning.free_slots[quota->to] == 0) {
        quota->rows = 0;  // [ours] the member stays below its share
        continue;
      }
      const std::int64_t count = std::min(quota->rows, *largest);
      planning.give(expert, quota->to, count);
      quota->rows -= count;
      *largest -= count;
    }
  }
  return planning;
}

}  // namespace moe
