#pragma once

#include <string>
#include <vector>

namespace viewer {

/// A labelled place on an axis.
struct Tick {
  double at = 0;
  std::string label;
};

/// The smallest of 1, 2, 5 x 10^k that is at least `value`. Throws std::invalid_argument unless 0 <
/// value < infinity.
double nice_step(double value);

/// Multiples of a nice step in [begin, end], at most `most` of them, labelled as plain numbers
/// (12,000; 0.25; 3e-07).
std::vector<Tick> place_ticks(double begin, double end, int most);

/// As place_ticks for an axis in seconds; all labels share one unit (ns, µs, ms, s) chosen by the
/// step and the range.
std::vector<Tick> place_time_ticks(double begin_s, double end_s, int most);

}  // namespace viewer
