#pragma once

#include "db/timeline/intervals.h"

/// A part of a time axis, and how zooming and panning change it.
namespace viewer {

using TimeRange = db::TimeInterval;

/// The narrowest range that can be shown. Below it, doubles cannot tell the ticks of a long trace
/// apart.
inline constexpr double kNarrowestRange_s = 20e-9;

/// Scales `range` by `factor` (< 1 zooms in) so that `anchor_s` stays where it is on the screen,
/// then clamps.
TimeRange zoom(TimeRange range, double factor, double anchor_s, TimeRange extent);

/// Moves `range` by `shift_s`, kept so that some of `extent` stays in view.
TimeRange pan(TimeRange range, double shift_s, TimeRange extent);

/// `extent` with a margin of `fraction` of its length on both sides.
TimeRange padded(TimeRange extent, double fraction);

}  // namespace viewer
