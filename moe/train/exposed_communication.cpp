#include "moe/train/exposed_communication.h"

#include <utility>
#include <vector>

#include "db/timeline_statistics.h"
#include "moe/program/last_arrivals.h"

namespace moe {
namespace {

bool passes_between_stages(const Op& op) {
  const auto kind = group_of(op);
  return kind && db::is_between_stages(group_name(*kind));
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
      const Op& op = program.ops[span.op];
      const db::TimeInterval whole{span.start_s, span.start_s + span.duration_s};
      switch (facts_of(op).activity) {
        case Activity::computation:
          intervals.computation.push_back(whole);
          break;
        case Activity::communication:
          db::add_communication(intervals, whole, arrivals.waiting_s(span, rank).value_or(0),
                                passes_between_stages(op));
          break;
        case Activity::copy:
          break;
      }
    }
    ranks.push_back(db::rank_statistics(rank, std::move(intervals), {0, timeline.duration_s}));
  }
  const db::RankStatistics mean = db::mean(ranks);
  return {mean.exposed_s, mean.exposed_waiting_s, mean.exposed_bubble_s};
}

}  // namespace moe
