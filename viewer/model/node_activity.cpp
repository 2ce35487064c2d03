#include "viewer/model/node_activity.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace viewer {

namespace {

constexpr double kPartsPerMoment = 2;  // moments further apart than this are not interpolated

/// Seconds of a rank up to a moment.
struct SpentTime {
  double computation_s = 0, exposed_s = 0, busy_s = 0;
};

PartTime difference(const SpentTime& a, const SpentTime& b) {
  return {static_cast<float>(a.computation_s - b.computation_s),
          static_cast<float>(a.exposed_s - b.exposed_s), static_cast<float>(a.busy_s - b.busy_s)};
}

double between(double a, double b, double share) { return a + (b - a) * share; }

// The running sum at a moment between those of the ledger.
SpentTime spent_until(const TimeLedger& ledger, std::size_t moment) {
  const db::RankStatistics& spent = ledger.spent[moment];
  const double length_s = ledger.moments_s[moment] - ledger.moments_s.front();
  return {spent.computation_s, spent.exposed_s, length_s - spent.idle_s};
}

SpentTime spent_at(const TimeLedger& ledger, double time_s) {
  const auto after = std::upper_bound(ledger.moments_s.begin(), ledger.moments_s.end(), time_s);
  const auto at = static_cast<std::size_t>(after - ledger.moments_s.begin());
  if (at == 0) return {};
  const SpentTime a = spent_until(ledger, at - 1);
  if (at == ledger.moments_s.size()) return a;
  const SpentTime b = spent_until(ledger, at);
  const double share =
      (time_s - ledger.moments_s[at - 1]) / (ledger.moments_s[at] - ledger.moments_s[at - 1]);
  return {between(a.computation_s, b.computation_s, share),
          between(a.exposed_s, b.exposed_s, share), between(a.busy_s, b.busy_s, share)};
}

bool has_moments_enough(const TimeLedger& ledger, const TimeParts& parts) {
  const TimeRange all = parts.all();
  const auto begin =
      std::lower_bound(ledger.moments_s.begin(), ledger.moments_s.end(), all.begin_s);
  const auto end = std::lower_bound(begin, ledger.moments_s.end(), all.end_s);
  if (end - begin < 2) return false;
  const double mean_gap_s = (*(end - 1) - *begin) / static_cast<double>(end - begin - 1);
  return mean_gap_s < kPartsPerMoment * parts.part_s;
}

void add_from_ledger(NodeActivity& activity, const TimeLedger& ledger) {
  SpentTime before = spent_at(ledger, activity.parts.of(0).begin_s);
  for (std::size_t i = 0; i < activity.parts.count; ++i) {
    const SpentTime after = spent_at(ledger, activity.parts.of(i).end_s);
    const PartTime part = difference(after, before);
    activity.times[i].computation_s += part.computation_s;
    activity.times[i].exposed_s += part.exposed_s;
    activity.times[i].busy_s += part.busy_s;
    before = after;
  }
}

// Adds the seconds that merged intervals have in each part.
void add_intervals(NodeActivity& activity, const std::vector<TimeRange>& intervals,
                   float PartTime::*seconds, float sign = 1) {
  const TimeParts& parts = activity.parts;
  const auto last = static_cast<double>(parts.count) - 1;
  const double origin = static_cast<double>(parts.first);
  for (const TimeRange& interval : intervals) {
    const double from = std::floor(interval.begin_s / parts.part_s) - origin;
    const double to = std::floor(interval.end_s / parts.part_s) - origin;
    if (to < 0 || from > last) continue;
    const auto end = static_cast<std::size_t>(std::min(to, last));
    for (auto i = static_cast<std::size_t>(std::max(from, 0.0)); i <= end; ++i) {
      const TimeRange part = parts.of(i);
      const double inside_s =
          std::min(interval.end_s, part.end_s) - std::max(interval.begin_s, part.begin_s);
      activity.times[i].*seconds += sign * static_cast<float>(std::max(inside_s, 0.0));
    }
  }
}

// The spans of the rank from `begin_s` on.
void add_from_spans(NodeActivity& activity, const Timeline& timeline, const TimeLedger& ledger,
                    double begin_s) {
  const TimeRange all{std::max(begin_s, activity.parts.all().begin_s), activity.parts.all().end_s};
  std::vector<TimeRange> computation, either, any;
  for (const Lane& lane : lanes_of(timeline, ledger)) {
    for (std::size_t s = first_ending_after(lane, all.begin_s);
         s < lane.spans.size() && lane.spans[s].start_s < all.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      const TimeRange range{std::max(span.start_s, all.begin_s), span.end_s};
      const Activity what = timeline.counted[static_cast<std::size_t>(span.op)].activity;
      if (what == Activity::computation) computation.push_back(range);
      if (what == Activity::computation || what == Activity::communication) {
        either.push_back(range);
      }
      any.push_back(range);
    }
  }
  computation = db::merged(std::move(computation));
  add_intervals(activity, computation, &PartTime::computation_s);
  // What communication covers beyond computation.
  add_intervals(activity, db::merged(std::move(either)), &PartTime::exposed_s);
  add_intervals(activity, computation, &PartTime::exposed_s, -1);
  add_intervals(activity, db::merged(std::move(any)), &PartTime::busy_s);
}

}  // namespace

TimeParts parts_around(TimeRange range, double part_s) {
  TimeParts parts;
  parts.part_s = part_s;
  const double margin_s = range.length_s() / 2;
  constexpr double kFarthest = 4e18;  // a damaged database may say anything
  parts.first = static_cast<std::int64_t>(
      std::clamp(std::floor((range.begin_s - margin_s) / part_s), -kFarthest, kFarthest));
  const double end = std::ceil((range.end_s + margin_s) / part_s);
  constexpr double kMost = 1 << 20;  // many times the pixels of any screen
  parts.count =
      static_cast<std::size_t>(std::clamp(end - static_cast<double>(parts.first), 1.0, kMost));
  return parts;
}

void add_rank(NodeActivity& activity, const Timeline& timeline, const TimeLedger& ledger) {
  activity.times.resize(activity.parts.count);
  if (has_moments_enough(ledger, activity.parts)) {
    add_from_ledger(activity, ledger);
    add_from_spans(activity, timeline, ledger, ledger.moments_s.back());
  } else {
    add_from_spans(activity, timeline, ledger, activity.parts.all().begin_s);
  }
  ++activity.ranks;
}

}  // namespace viewer
