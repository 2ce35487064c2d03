#include "moe/rows/late_planning.h"

#include <algorithm>
#include <numeric>

namespace moe {

RowsAtHome::RowsAtHome(std::span<const std::int64_t> of, std::span<const int> at_home, int members)
    : rows(of), homes(at_home), experts(of.size()), first(static_cast<std::size_t>(members) + 1) {
  std::iota(experts.begin(), experts.end(), 0);
  std::ranges::sort(experts, [&](int a, int b) {
    if (homes[a] != homes[b]) return homes[a] < homes[b];
    return rows[a] != rows[b] ? rows[a] > rows[b] : a < b;
  });
  for (const int home : homes) ++first[home + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
}

LatePlanning::LatePlanning(const RowsAtHome& of, int slots)
    : home(&of),
      load(static_cast<std::size_t>(of.members())),
      free_slots(load.size(), slots),
      last(load.size(), -1) {
  for (std::size_t expert = 0; expert < of.rows.size(); ++expert) {
    load[of.homes[expert]] += of.rows[expert];
  }
}

bool LatePlanning::may_take(int expert, int member) const {
  return free_slots[member] > 0 && last[member] != expert && home->homes[expert] != member;
}

void LatePlanning::give(int expert, int member, std::int64_t rows) {
  transfers.push_back({expert, member, rows});
  load[home->homes[expert]] -= rows;
  load[member] += rows;
  --free_slots[member];
  last[member] = expert;
}

std::int64_t LatePlanning::total() const {
  return std::accumulate(load.begin(), load.end(), std::int64_t{0});
}

std::int64_t LatePlanning::most() const { return *std::ranges::max_element(load); }

std::vector<int> members_by(std::span<const std::int64_t> key, bool descending) {
  std::vector<int> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int a, int b) { return descending ? key[a] > key[b] : key[a] < key[b]; });
  return order;
}

}  // namespace moe
