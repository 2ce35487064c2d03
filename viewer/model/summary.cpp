#include "viewer/model/summary.h"

#include <utility>

#include "viewer/model/activity.h"

namespace viewer {

namespace {

std::vector<TimeRange>& of(db::ActivityIntervals& intervals, Activity activity) {
  switch (activity) {
    case Activity::computation:
      return intervals.computation;
    case Activity::communication:
      return intervals.communication;
    case Activity::copy:
      return intervals.copy;
    case Activity::host:
      return intervals.host;
    case Activity::unknown:
      break;
  }
  return intervals.unknown;
}

}  // namespace

Summary summarize(const Timeline& timeline, TimeRange range) {
  Summary summary{range, {}, {}};
  std::vector<Activity> activities;
  for (const db::TimelineOp& op : timeline.ops) activities.push_back(activity_of(op));

  db::ActivityIntervals intervals;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Lane& lane = timeline.lanes[i];
    for (std::size_t s = first_ending_after(lane, range.begin_s);
         s < lane.spans.size() && lane.spans[s].start_s < range.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      of(intervals, activities[span.op]).push_back({span.start_s, span.end_s});
    }
    const bool last_of_rank =
        i + 1 == timeline.lanes.size() || timeline.lanes[i + 1].rank != lane.rank;
    if (!last_of_rank) continue;
    summary.ranks.push_back(db::rank_statistics(lane.rank, std::exchange(intervals, {}), range));
  }
  summary.mean = db::mean(summary.ranks);
  return summary;
}

std::optional<double> covered_share(const db::RankStatistics& rank) {
  if (!(rank.communication_s > 0)) return std::nullopt;
  return rank.covered_s() / rank.communication_s;
}

}  // namespace viewer
