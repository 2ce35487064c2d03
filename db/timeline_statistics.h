#pragma once

#include <optional>
#include <span>
#include <string_view>
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
  std::vector<TimeInterval> communication;  ///< without what the next two have of it
  std::vector<TimeInterval> copy;
  std::vector<TimeInterval> host;
  std::vector<TimeInterval> unknown;  ///< an op ran whose activity is not known
  /// A communication ran, and a rank of its group had not come.
  std::vector<TimeInterval> waiting = {};
  std::vector<TimeInterval> bubble = {};  ///< the same, where a rank of another stage had not come
};

/// Whether ranks of different pipeline stages communicate in groups of this kind
/// (TimelineOp::group_kind).
bool is_between_stages(std::string_view group_kind);

/// Adds a communication that waited for `waiting_s` until the last rank of its group began.
void add_communication(ActivityIntervals& intervals, TimeInterval whole, double waiting_s,
                       bool between_stages);

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

/// Statistics of the part of `intervals` inside `range`.
RankStatistics rank_statistics(int rank, ActivityIntervals intervals, TimeInterval range);

/// The mean of every figure over ranks; `rank` is -1. Zeros where there are no ranks.
RankStatistics mean(std::span<const RankStatistics> ranks);

}  // namespace db
