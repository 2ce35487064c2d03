#pragma once

#include <span>
#include <vector>

/// How the time of a timeline was spent, per rank: intervals of time and the activity in them.
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

/// The intervals in which ops ran on one rank, by activity (TimelineOp::activity). In any order;
/// they may overlap.
struct ActivityIntervals {
  std::vector<TimeInterval> computation;
  std::vector<TimeInterval> communication;
  std::vector<TimeInterval> copy;
  std::vector<TimeInterval> host;
  std::vector<TimeInterval> unknown;  ///< an op ran whose activity is not known
};

/// Seconds during which at least one op of an activity ran on a rank. They add up to more than the
/// whole where activities overlap.
struct RankStatistics {
  int rank = 0;
  double computation_s = 0;
  double communication_s = 0;
  double exposed_s = 0;  ///< the part of communication_s during which no computation ran
  double copy_s = 0;
  double host_s = 0;
  double idle_s = 0;  ///< during which no op ran

  double covered_s() const { return communication_s - exposed_s; }
};

/// Statistics of the part of `intervals` inside `range`.
RankStatistics rank_statistics(int rank, ActivityIntervals intervals, TimeInterval range);

/// The mean of every figure over ranks; `rank` is -1. Zeros where there are no ranks.
RankStatistics mean(std::span<const RankStatistics> ranks);

}  // namespace db
