#include "viewer/model/time_ledger.h"

#include <algorithm>
#include <utility>

namespace viewer {

namespace {

// Fewer moments cost less to make, and more spans around the ends of each range.
constexpr std::size_t kBlocksPerMoment = 4;

std::vector<TimeRange>& intervals_of(db::ActivityIntervals& intervals, Activity activity) {
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

// From the spans themselves.
SpentTime spent_within(std::span<const Lane> lanes, std::span<const OpActivity> activities,
                       TimeRange range) {
  if (!(range.length_s() > 0)) return {};
  db::ActivityIntervals intervals;
  for (const Lane& lane : lanes) {
    for (std::size_t s = first_ending_after(lane, range.begin_s);
         s < lane.spans.size() && lane.spans[s].start_s < range.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      const OpActivity op = activities[static_cast<std::size_t>(span.op)];
      const TimeRange whole{span.start_s, span.end_s};
      if (op.activity == Activity::communication) {
        db::add_communication(intervals, whole, static_cast<double>(span.waiting_s),
                              op.between_stages);
      } else {
        intervals_of(intervals, op.activity).push_back(whole);
      }
    }
  }
  const db::RankStatistics within = db::rank_statistics(0, std::move(intervals), range);
  return {within.computation_s,
          within.communication_s,
          within.exposed_s,
          within.copy_s,
          within.host_s,
          range.length_s() - within.idle_s,
          within.exposed_waiting_s,
          within.exposed_bubble_s};
}

SpentTime plus(const SpentTime& a, const SpentTime& b) {
  return {a.computation_s + b.computation_s,
          a.communication_s + b.communication_s,
          a.exposed_s + b.exposed_s,
          a.copy_s + b.copy_s,
          a.host_s + b.host_s,
          a.busy_s + b.busy_s,
          a.exposed_waiting_s + b.exposed_waiting_s,
          a.exposed_bubble_s + b.exposed_bubble_s};
}

SpentTime minus(const SpentTime& a, const SpentTime& b) {
  return {a.computation_s - b.computation_s,
          a.communication_s - b.communication_s,
          a.exposed_s - b.exposed_s,
          a.copy_s - b.copy_s,
          a.host_s - b.host_s,
          a.busy_s - b.busy_s,
          a.exposed_waiting_s - b.exposed_waiting_s,
          a.exposed_bubble_s - b.exposed_bubble_s};
}

// The last moment that is not after `time_s`; the number of moments for none.
std::size_t moment_before(const TimeLedger& ledger, double time_s) {
  const auto after = std::upper_bound(ledger.moments_s.begin(), ledger.moments_s.end(), time_s);
  return after == ledger.moments_s.begin()
             ? ledger.moments_s.size()
             : static_cast<std::size_t>(after - ledger.moments_s.begin()) - 1;
}

// Never below zero by rounding.
double positive(double seconds) { return std::max(seconds, 0.0); }

}  // namespace

TimeLedger build_ledger(int rank, std::span<const Lane> lanes,
                        std::span<const OpActivity> activities) {
  TimeLedger ledger;
  ledger.rank = rank;
  ledger.lanes = lanes.size();
  for (const Lane& lane : lanes) {
    for (const LaneSpan& span : lane.spans) ledger.flops += span.flops;
    for (std::size_t i = 0; i < lane.blocks.size(); i += kBlocksPerMoment) {
      ledger.moments_s.push_back(lane.blocks[i].start_s);
    }
  }
  std::sort(ledger.moments_s.begin(), ledger.moments_s.end());
  ledger.moments_s.erase(std::unique(ledger.moments_s.begin(), ledger.moments_s.end()),
                         ledger.moments_s.end());
  ledger.moments_s.shrink_to_fit();
  ledger.spent.reserve(ledger.moments_s.size());
  SpentTime sum;
  for (std::size_t i = 0; i < ledger.moments_s.size(); ++i) {
    if (i > 0) {
      sum = plus(sum,
                 spent_within(lanes, activities, {ledger.moments_s[i - 1], ledger.moments_s[i]}));
    }
    ledger.spent.push_back(sum);
  }
  return ledger;
}

db::RankStatistics statistics(const Timeline& timeline, const TimeLedger& ledger, TimeRange range) {
  const auto lanes = std::span(timeline.lanes).subspan(ledger.first_lane, ledger.lanes);
  const std::size_t first = moment_before(ledger, range.begin_s);
  const std::size_t last = moment_before(ledger, range.end_s);
  const std::size_t none = ledger.moments_s.size();
  SpentTime spent;
  if (first == last) {
    spent = spent_within(lanes, timeline.activities, range);
  } else {
    // Before the first moment nothing ran.
    spent = plus(ledger.spent[last],
                 spent_within(lanes, timeline.activities, {ledger.moments_s[last], range.end_s}));
    if (first != none) {
      spent = minus(
          spent, plus(ledger.spent[first], spent_within(lanes, timeline.activities,
                                                        {ledger.moments_s[first], range.begin_s})));
    }
  }
  db::RankStatistics rank;
  rank.rank = ledger.rank;
  rank.computation_s = positive(spent.computation_s);
  rank.communication_s = positive(spent.communication_s);
  rank.exposed_s = positive(spent.exposed_s);
  rank.copy_s = positive(spent.copy_s);
  rank.host_s = positive(spent.host_s);
  rank.exposed_waiting_s = positive(spent.exposed_waiting_s);
  rank.exposed_bubble_s = positive(spent.exposed_bubble_s);
  rank.idle_s = positive(range.length_s() - spent.busy_s);
  return rank;
}

}  // namespace viewer
