#include "tuner/costs/intervals.h"

#include <algorithm>

namespace tuner {

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) continue;
    if (!result.empty() && interval.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, interval.end);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

double covered(Interval span, const std::vector<Interval>& others) {
  double sum = 0;
  auto next = std::lower_bound(others.begin(), others.end(), span.begin,
                               [](const Interval& a, double time) { return a.end <= time; });
  for (; next != others.end() && next->begin < span.end; ++next) {
    sum += std::min(span.end, next->end) - std::max(span.begin, next->begin);
  }
  return sum;
}

}  // namespace tuner
