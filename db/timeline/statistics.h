#pragma once

#include <array>
#include <span>
#include <vector>

#include "db/timeline/activity.h"
#include "db/timeline/intervals.h"

/// How the time of a timeline was spent, per rank: intervals of time and the activity in them.
namespace db {

/// The intervals in which ops ran on one rank, by activity (TimelineOp::activity). In any order;
/// they may overlap.
struct ActivityIntervals {
  std::vector<TimeInterval> computation;
  std::vector<TimeInterval> communication;  ///< without what the next two have of it
  std::vector<TimeInterval> copy;
  std::vector<TimeInterval> host;
  std::vector<TimeInterval> unknown;  ///< an op ran whose activity is not known
  /// A communication ran, and a rank of its group had not come.
  std::vector<TimeInterval> waiting = {};
  std::vector<TimeInterval> bubble = {};  ///< the same, where a rank of another stage had not come
};

/// Adds a span of an op. A communication waited for `waiting_s` until the last rank of its group
/// began; of other ops that is ignored.
void add_span(ActivityIntervals& intervals, CountedAs op, TimeInterval span, double waiting_s = 0);

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
  /// Of exposed_s: all communications waited for other ranks; of the rest of it, all for ranks of
  /// other pipeline stages. What is left, something was transferred.
  double exposed_waiting_s = 0;
  double exposed_bubble_s = 0;

  double covered_s() const { return communication_s - exposed_s; }
  double exposed_transfer_s() const { return exposed_s - exposed_waiting_s - exposed_bubble_s; }
};

/// The figures of RankStatistics, all of them seconds.
inline constexpr std::array kRankFigures = {&RankStatistics::computation_s,
                                            &RankStatistics::communication_s,
                                            &RankStatistics::exposed_s,
                                            &RankStatistics::copy_s,
                                            &RankStatistics::host_s,
                                            &RankStatistics::idle_s,
                                            &RankStatistics::exposed_waiting_s,
                                            &RankStatistics::exposed_bubble_s};

/// Adds `times` as much of every figure.
void add(RankStatistics& sum, const RankStatistics& of, double times);

/// Statistics of the part of `intervals` inside `range`.
RankStatistics rank_statistics(int rank, ActivityIntervals intervals, TimeInterval range);

/// The mean of every figure over ranks; `rank` is -1. Zeros where there are no ranks.
RankStatistics mean(std::span<const RankStatistics> ranks);

}  // namespace db
