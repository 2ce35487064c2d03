#include "db/timeline/statistics.h"

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

void add_span(ActivityIntervals& intervals, CountedAs op, TimeInterval span, double waiting_s) {
  switch (op.activity) {
    case Activity::computation:
      intervals.computation.push_back(span);
      return;
    case Activity::communication: {
      const double met_s = std::clamp(span.begin_s + waiting_s, span.begin_s, span.end_s);
      (op.between_stages ? intervals.bubble : intervals.waiting).push_back({span.begin_s, met_s});
      intervals.communication.push_back({met_s, span.end_s});
      return;
    }
    case Activity::copy:
      intervals.copy.push_back(span);
      return;
    case Activity::host:
      intervals.host.push_back(span);
      return;
    case Activity::unknown:
      intervals.unknown.push_back(span);
  }
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

void add(RankStatistics& sum, const RankStatistics& of, double times) {
  for (double RankStatistics::*figure : kRankFigures) sum.*figure += times * of.*figure;
}

RankStatistics mean(std::span<const RankStatistics> ranks) {
  RankStatistics mean;
  mean.rank = -1;
  for (const RankStatistics& rank : ranks) add(mean, rank, 1 / static_cast<double>(ranks.size()));
  return mean;
}

}  // namespace db
