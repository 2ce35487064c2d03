#pragma once

#include <cstddef>
#include <vector>

#include "viewer/model/timeline.h"

namespace viewer {

/// One mark on the screen: a span, or a run of spans too thin to be told apart.
struct Mark {
  double begin_s = 0;
  double end_s = 0;
  std::size_t first = 0;  ///< index of the first span
  std::size_t count = 1;
  double busy_s = 0;  ///< sum of the durations of its spans
  /// The op of the span; for a run, that of the longest among evenly spaced spans, and for a long
  /// run of the longest in evenly spaced blocks of spans.
  std::int32_t op = 0;
  bool operator==(const Mark&) const = default;
};

/// Spans narrower than this many pixels fold.
inline constexpr double kFoldBelow_px = 3.0;

/// The marks to draw for the part of `lane` in `visible` at `seconds_per_px`. Time is cut into
/// buckets of 3 px that do not move when the view pans; spans under 3 px that start in one bucket
/// become one mark, wider ones a mark each. Costs O(marks x log spans), however many spans a bucket
/// holds.
std::vector<Mark> fold(const Lane& lane, TimeRange visible, double seconds_per_px);

}  // namespace viewer
