#include "db/timeline_statistics.h"

#include <algorithm>
#include <utility>

namespace db {

namespace {

std::vector<TimeInterval> merged_inside(std::vector<TimeInterval> intervals, TimeInterval range) {
  for (TimeInterval& interval : intervals) {
    interval = {std::max(interval.begin_s, range.begin_s), std::min(interval.end_s, range.end_s)};
  }
  return merged(std::move(intervals));
}

void append(std::vector<TimeInterval>& to, const std::vector<TimeInterval>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Both are merged, and so is the result.
std::vector<TimeInterval> joined(std::vector<TimeInterval> a, const std::vector<TimeInterval>& b) {
  if (b.empty()) return a;
  append(a, b);
  return merged(std::move(a));
}

}  // namespace

bool is_between_stages(std::string_view group_kind) {
  return group_kind == "even_boundary" || group_kind == "odd_boundary" || group_kind == "ends";
}

void add_communication(ActivityIntervals& intervals, TimeInterval whole, double waiting_s,
                       bool between_stages) {
  const double met_s = std::clamp(whole.begin_s + waiting_s, whole.begin_s, whole.end_s);
  if (met_s > whole.begin_s) {
    (between_stages ? intervals.bubble : intervals.waiting).push_back({whole.begin_s, met_s});
  }
  if (whole.end_s > met_s) intervals.communication.push_back({met_s, whole.end_s});
}

std::vector<TimeInterval> merged(std::vector<TimeInterval> intervals) {
  const auto begins_before = [](const TimeInterval& a, const TimeInterval& b) {
    return a.begin_s < b.begin_s;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), begins_before)) {
    std::sort(intervals.begin(), intervals.end(), begins_before);
  }
  std::vector<TimeInterval> result;
  for (const TimeInterval& interval : intervals) {
    if (!(interval.length_s() > 0)) continue;
    if (!result.empty() && interval.begin_s <= result.back().end_s) {
      result.back().end_s = std::max(result.back().end_s, interval.end_s);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

double total_length_s(std::span<const TimeInterval> intervals) {
  double sum_s = 0;
  for (const TimeInterval& interval : intervals) sum_s += interval.length_s();
  return sum_s;
}

std::vector<TimeInterval> common_intervals(std::span<const TimeInterval> a,
                                           std::span<const TimeInterval> b) {
  std::vector<TimeInterval> common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double begin_s = std::max(a[i].begin_s, b[j].begin_s);
    const double end_s = std::min(a[i].end_s, b[j].end_s);
    if (begin_s < end_s) common.push_back({begin_s, end_s});
    if (a[i].end_s < b[j].end_s) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

double common_length_s(std::span<const TimeInterval> a, std::span<const TimeInterval> b) {
  return total_length_s(common_intervals(a, b));
}

double covered_length_s(TimeInterval interval, std::span<const TimeInterval> others) {
  const auto first = std::partition_point(
      others.begin(), others.end(),
      [&](const TimeInterval& other) { return other.end_s <= interval.begin_s; });
  double sum_s = 0;
  for (auto next = first; next != others.end() && next->begin_s < interval.end_s; ++next) {
    sum_s += std::min(interval.end_s, next->end_s) - std::max(interval.begin_s, next->begin_s);
  }
  return sum_s;
}

RankStatistics rank_statistics(int rank, ActivityIntervals intervals, TimeInterval range) {
  const auto computation = merged_inside(std::move(intervals.computation), range);
  const auto transfer = merged_inside(std::move(intervals.communication), range);
  const auto in_stage = joined(transfer, merged_inside(std::move(intervals.waiting), range));
  const auto communication = joined(in_stage, merged_inside(std::move(intervals.bubble), range));
  const auto copy = merged_inside(std::move(intervals.copy), range);
  const auto host = merged_inside(std::move(intervals.host), range);
  std::vector<TimeInterval> anything = computation;
  append(anything, communication);
  append(anything, copy);
  append(anything, host);
  append(anything, merged_inside(std::move(intervals.unknown), range));

  RankStatistics statistics;
  statistics.rank = rank;
  statistics.computation_s = total_length_s(computation);
  statistics.communication_s = total_length_s(communication);
  const auto exposed_s = [&](const std::vector<TimeInterval>& of) {
    return total_length_s(of) - common_length_s(computation, of);
  };
  statistics.exposed_s = exposed_s(communication);
  const double in_stage_s = exposed_s(in_stage);
  statistics.exposed_bubble_s = std::max(0.0, statistics.exposed_s - in_stage_s);
  statistics.exposed_waiting_s = std::max(0.0, in_stage_s - exposed_s(transfer));
  statistics.copy_s = total_length_s(copy);
  statistics.host_s = total_length_s(host);
  statistics.idle_s = range.length_s() - total_length_s(merged(std::move(anything)));
  return statistics;
}

RankStatistics mean(std::span<const RankStatistics> ranks) {
  RankStatistics mean;
  mean.rank = -1;
  const auto count = static_cast<double>(ranks.size());
  for (const RankStatistics& rank : ranks) {
    mean.computation_s += rank.computation_s / count;
    mean.communication_s += rank.communication_s / count;
    mean.exposed_s += rank.exposed_s / count;
    mean.copy_s += rank.copy_s / count;
    mean.host_s += rank.host_s / count;
    mean.idle_s += rank.idle_s / count;
    mean.exposed_waiting_s += rank.exposed_waiting_s / count;
    mean.exposed_bubble_s += rank.exposed_bubble_s / count;
  }
  return mean;
}

}  // namespace db
