#pragma once

#include <span>
#include <vector>

/// Parts of a time axis.
namespace db {

/// Seconds [begin_s, end_s).
struct TimeInterval {
  double begin_s = 0;
  double end_s = 0;

  double length_s() const { return end_s - begin_s; }
  bool operator==(const TimeInterval&) const = default;
};

/// The same time as sorted intervals that neither touch nor overlap. Intervals of no length are
/// left out.
std::vector<TimeInterval> merged(std::vector<TimeInterval> intervals);

/// Seconds of `intervals`, which must be merged.
double total_length_s(std::span<const TimeInterval> intervals);

/// The time that belongs to both, merged as each of them must be.
std::vector<TimeInterval> common_intervals(std::span<const TimeInterval> a,
                                           std::span<const TimeInterval> b);
/// Its seconds.
double common_length_s(std::span<const TimeInterval> a, std::span<const TimeInterval> b);

/// Seconds of `interval` that `others`, which must be merged, cover.
double covered_length_s(TimeInterval interval, std::span<const TimeInterval> others);

/// The part of `interval` that lies in `bounds`; of no length where none does.
TimeInterval common(TimeInterval interval, TimeInterval bounds);

}  // namespace db
