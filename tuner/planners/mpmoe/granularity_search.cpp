#include "tuner/planners/mpmoe/granularity_search.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tuner::mpmoe {

int until_it_rises(int lowest, int highest, const Profile& profile) {
  int best = lowest;
  double best_s = lowest == highest ? 0 : profile(lowest), before_s = best_s;
  for (int n = lowest + 1; n <= highest; ++n) {
    const double seconds = profile(n);
    if (seconds > before_s) break;
    if (seconds < best_s) {
      best = n;
      best_s = seconds;
    }
    before_s = seconds;
  }
  return best;
}

int from_the_better_end(int lowest, int highest, const Profile& profile) {
  if (lowest == highest) return lowest;
  const double lowest_s = profile(lowest), highest_s = profile(highest);
  const bool up = lowest_s <= highest_s;
  int best = up ? lowest : highest;
  double best_s = std::min(lowest_s, highest_s);
  for (int n = best + (up ? 1 : -1); lowest < n && n < highest; n += up ? 1 : -1) {
    const double seconds = profile(n);
    if (seconds >= best_s) break;
    best = n;
    best_s = seconds;
  }
  return best;
}

GranularitySearch::GranularitySearch(int most) {
  constexpr double kEver = std::numeric_limits<double>::infinity();
  ranges[1] = {0, 1};
  if (most > 1) ranges[most] = {kEver, kEver};
}

int best_partitions(GranularitySearch& search, double B, const Profile& profile) {
  if (const auto known = search.found.find(B); known != search.found.end()) return known->second;
  auto& ranges = search.ranges;
  // Find the range with B, or the neighbours of B.
  auto above = std::find_if(ranges.begin(), ranges.end(),
                            [&](const auto& range) { return B <= range.second.second; });
  if (above == ranges.end()) above = std::prev(above);
  const bool inside = B >= above->second.first || above == ranges.begin();
  const int highest = above->first;
  const int lowest = inside ? highest : std::prev(above)->first;
  const int n = until_it_rises(lowest, highest, profile);
  const auto [range, added] = ranges.try_emplace(n, B, B);
  if (!added) {
    // No batch has chosen the highest n yet where its range begins at infinity.
    auto& [least, largest] = range->second;
    if (least == std::numeric_limits<double>::infinity()) {
      least = B;
    } else {
      least = std::min(least, B);
      largest = std::max(largest, B);
    }
  }
  search.found[B] = n;
  return n;
}

}  // namespace tuner::mpmoe
