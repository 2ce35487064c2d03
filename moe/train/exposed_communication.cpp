#include "moe/train/exposed_communication.h"

#include <utility>
#include <vector>

#include "db/timeline/statistics.h"
#include "moe/program/last_arrivals.h"

namespace moe {
namespace {

db::CountedAs counted_as(const Op& op) {
  const auto kind = group_of(op);
  switch (facts_of(op).activity) {
    case Activity::computation:
      return {db::Activity::computation};
    case Activity::communication:
      return {db::Activity::communication, kind && db::is_between_stages(group_name(*kind))};
    case Activity::copy:
      break;
  }
  return {db::Activity::copy};
}

}  // namespace

ExposedCommunication exposed_communication(const Program& program, const Timeline& timeline,
                                           const Groups& groups) {
  const FirstRanks first = first_ranks(program, groups);
  const LastArrivals arrivals(program, timeline, first);
  std::vector<db::RankStatistics> ranks;
  for (int rank = 0; rank < rank_count(timeline); ++rank) {
    db::ActivityIntervals intervals;
    for (const OpSpan& span : spans_of(timeline, rank)) {
      db::add_span(intervals, counted_as(program.ops[span.op]),
                   {span.start_s, span.start_s + span.duration_s},
                   arrivals.waiting_s(span, rank).value_or(0));
    }
    ranks.push_back(db::rank_statistics(rank, std::move(intervals), {0, timeline.duration_s}));
  }
  const db::RankStatistics mean = db::mean(ranks);
  return {mean.exposed_s, mean.exposed_waiting_s, mean.exposed_bubble_s};
}

}  // namespace moe
