#pragma once

#include <vector>

namespace tuner {

/// Seconds [begin, end).
struct Interval {
  double begin = 0;
  double end = 0;
};

/// The same time as intervals that are sorted and do not touch; empty ones are left out.
std::vector<Interval> merged(std::vector<Interval> intervals);

/// Seconds of `span` that `others` (as merged() returns them) cover.
double covered(Interval span, const std::vector<Interval>& others);

}  // namespace tuner
