#pragma once

/// A stretch of a time axis and the arithmetic of zooming and panning it.
namespace viewer {

/// Seconds; `end_s` >= `begin_s`.
struct TimeRange {
  double begin_s = 0;
  double end_s = 0;

  double length_s() const { return end_s - begin_s; }
  bool operator==(const TimeRange&) const = default;
};

/// The narrowest range that can be shown; below it doubles of a long trace no longer tell ticks
/// apart.
inline constexpr double kNarrowestRange_s = 20e-9;

/// Scales `range` by `factor` (< 1 zooms in) so that `anchor_s` stays where it is on the screen,
/// then clamps.
TimeRange zoom(TimeRange range, double factor, double anchor_s, TimeRange extent);

/// Moves `range` by `shift_s`, kept so that some of `extent` stays in view.
TimeRange pan(TimeRange range, double shift_s, TimeRange extent);

/// `extent` with a margin of `fraction` of its length on both sides.
TimeRange padded(TimeRange extent, double fraction);

/// The smallest range that holds both; a range of no length counts as absent.
TimeRange united(TimeRange a, TimeRange b);

}  // namespace viewer
