#include "viewer/model/time_range.h"

#include <algorithm>

namespace viewer {

namespace {

// More than the whole is shown when zoomed out, so that the first and last span do not stick to the
// border.
constexpr double kOutermostMargin = 0.1;

TimeRange clamped(TimeRange range, TimeRange extent) {
  const TimeRange outermost = padded(extent, kOutermostMargin);
  const double length = std::clamp(range.length_s(), kNarrowestRange_s,
                                   std::max(outermost.length_s(), kNarrowestRange_s));
  const double latest_begin = std::max(outermost.begin_s, outermost.end_s - length);
  const double begin = std::clamp(range.begin_s, outermost.begin_s, latest_begin);
  return {begin, begin + length};
}

}  // namespace

TimeRange zoom(TimeRange range, double factor, double anchor_s, TimeRange extent) {
  const double old_length = range.length_s();
  const double longest = std::max(padded(extent, kOutermostMargin).length_s(), kNarrowestRange_s);
  const double length = std::clamp(old_length * factor, kNarrowestRange_s, longest);
  const double share = old_length > 0 ? (anchor_s - range.begin_s) / old_length : 0.5;
  const double begin = anchor_s - share * length;
  return clamped({begin, begin + length}, extent);
}

TimeRange pan(TimeRange range, double shift_s, TimeRange extent) {
  return clamped({range.begin_s + shift_s, range.end_s + shift_s}, extent);
}

TimeRange padded(TimeRange extent, double fraction) {
  const double margin = std::max(extent.length_s(), kNarrowestRange_s) * fraction;
  return {extent.begin_s - margin, extent.end_s + margin};
}

}  // namespace viewer
