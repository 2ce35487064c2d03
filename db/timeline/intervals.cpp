#include "db/timeline/intervals.h"

#include <algorithm>

namespace db {

std::vector<TimeInterval> merged(std::vector<TimeInterval> intervals) {
  const auto begins_before = [](const TimeInterval& a, const TimeInterval& b) {
    return a.begin_s < b.begin_s;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), begins_before)) {
    std::sort(intervals.begin(), intervals.end(), begins_before);
  }
  std::vector<TimeInterval> result;
  for (const TimeInterval& interval : intervals) {
    if (!(interval.length_s() > 0)) continue;
    if (!result.empty() && interval.begin_s <= result.back().end_s) {
      result.back().end_s = std::max(result.back().end_s, interval.end_s);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

double total_length_s(std::span<const TimeInterval> intervals) {
  double sum_s = 0;
  for (const TimeInterval& interval : intervals) sum_s += interval.length_s();
  return sum_s;
}

std::vector<TimeInterval> common_intervals(std::span<const TimeInterval> a,
                                           std::span<const TimeInterval> b) {
  std::vector<TimeInterval> common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double begin_s = std::max(a[i].begin_s, b[j].begin_s);
    const double end_s = std::min(a[i].end_s, b[j].end_s);
    if (begin_s < end_s) common.push_back({begin_s, end_s});
    if (a[i].end_s < b[j].end_s) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

double common_length_s(std::span<const TimeInterval> a, std::span<const TimeInterval> b) {
  return total_length_s(common_intervals(a, b));
}

double covered_length_s(TimeInterval interval, std::span<const TimeInterval> others) {
  const auto first = std::partition_point(
      others.begin(), others.end(),
      [&](const TimeInterval& other) { return other.end_s <= interval.begin_s; });
  double sum_s = 0;
  for (auto next = first; next != others.end() && next->begin_s < interval.end_s; ++next) {
    sum_s += std::min(interval.end_s, next->end_s) - std::max(interval.begin_s, next->begin_s);
  }
  return sum_s;
}

TimeInterval common(TimeInterval interval, TimeInterval bounds) {
  interval = {std::max(interval.begin_s, bounds.begin_s), std::min(interval.end_s, bounds.end_s)};
  interval.end_s = std::max(interval.begin_s, interval.end_s);
  return interval;
}

}  // namespace db
