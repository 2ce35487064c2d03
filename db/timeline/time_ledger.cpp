#include "db/timeline/time_ledger.h"

#include <algorithm>
#include <utility>

namespace db {

namespace {

// Fewer moments cost less to make, and more spans around the ends of each range.
constexpr std::size_t kBlocksPerMoment = 4;

// From the spans themselves.
RankStatistics spent_within(std::span<const Lane> lanes, std::span<const CountedAs> counted,
                            TimeInterval range) {
  if (!(range.length_s() > 0)) return {};
  ActivityIntervals intervals;
  for (const Lane& lane : lanes) {
    for (std::size_t s = first_ending_after(lane, range.begin_s);
         s < lane.spans.size() && lane.spans[s].start_s < range.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      add_span(intervals, counted[static_cast<std::size_t>(span.op)], span.interval(),
               span.waiting_s);
    }
  }
  return rank_statistics(0, std::move(intervals), range);
}

// The last moment that is not after `time_s`; the number of moments for none.
std::size_t moment_before(const TimeLedger& ledger, double time_s) {
  const auto after = std::upper_bound(ledger.moments_s.begin(), ledger.moments_s.end(), time_s);
  return after == ledger.moments_s.begin()
             ? ledger.moments_s.size()
             : static_cast<std::size_t>(after - ledger.moments_s.begin()) - 1;
}

}  // namespace

TimeLedger build_ledger(int rank, std::span<const Lane> lanes, std::span<const CountedAs> counted) {
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
  RankStatistics sum;
  for (std::size_t i = 0; i < ledger.moments_s.size(); ++i) {
    if (i > 0) {
      add(sum, spent_within(lanes, counted, {ledger.moments_s[i - 1], ledger.moments_s[i]}), 1);
    }
    ledger.spent.push_back(sum);
  }
  return ledger;
}

RankStatistics statistics(const Timeline& timeline, const TimeLedger& ledger, TimeInterval range) {
  const std::span<const Lane> lanes = lanes_of(timeline, ledger);
  const auto within = [&](double begin_s, double end_s) {
    return spent_within(lanes, timeline.counted, {begin_s, end_s});
  };
  const std::size_t first = moment_before(ledger, range.begin_s);
  const std::size_t last = moment_before(ledger, range.end_s);
  RankStatistics rank;
  if (first == last) {
    rank = within(range.begin_s, range.end_s);
  } else {
    rank = ledger.spent[last];
    add(rank, within(ledger.moments_s[last], range.end_s), 1);
    if (first == ledger.moments_s.size()) {
      rank.idle_s += ledger.moments_s.front() - range.begin_s;  // before it nothing ran
    } else {
      add(rank, ledger.spent[first], -1);
      add(rank, within(ledger.moments_s[first], range.begin_s), -1);
    }
    for (double RankStatistics::*figure : kRankFigures) {  // never below zero by rounding
      rank.*figure = std::max(rank.*figure, 0.0);
    }
  }
  rank.rank = ledger.rank;
  return rank;
}

}  // namespace db
