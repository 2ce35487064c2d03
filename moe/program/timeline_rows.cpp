#include "moe/program/timeline_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "db/store.h"
#include "db/timeline/lane_builder.h"
#include "moe/program/last_arrivals.h"
#include "moe/program/row_handling.h"
#include "moe/program/start_rule.h"
#include "moe/program/work.h"

namespace moe {
namespace {

/// What every op waits for; of the ops of one stream and pipeline stage only the last.
std::vector<db::OpEdge> edge_rows(const Program& program) {
  std::vector<db::OpEdge> rows;
  const std::vector<std::vector<int>> waits = waits_for(program);
  for (std::size_t op = 0; op < waits.size(); ++op) {
    std::map<std::pair<Stream, int>, int> last;
    for (const int before : waits[op]) {
      last[{program.ops[before].stream, program.ops[before].stage}] = before;
    }
    std::vector<int> kept;
    for (const auto& [queue, before] : last) kept.push_back(before);
    std::sort(kept.begin(), kept.end());
    for (const int before : kept) rows.push_back({0, static_cast<int>(op), before});
  }
  return rows;
}

std::vector<db::TimelineOp> op_rows(const Program& program) {
  std::vector<db::TimelineOp> rows;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const std::optional<GroupKind> group = group_of(op);
    rows.push_back({0, static_cast<int>(i), op.name, std::string(kind_name(op)),
                    std::string(activity_name(facts_of(op).activity)),
                    std::string(stream_name(op.stream)), std::string(phase_name(op.phase)),
                    op.layer, share_of(op).index, share_of(op).count,
                    group ? std::string(group_name(*group)) : ""});
  }
  return rows;
}

/// `rank_of`: the rank of each place of `first`.
std::vector<db::RankGroup> group_rows(const FirstRanks& first, const std::vector<int>& rank_of) {
  std::vector<db::RankGroup> rows;
  for (const auto& [kind, lowest] : first) {
    for (std::size_t place = 0; place < lowest.size(); ++place) {
      rows.push_back({0, std::string(group_name(kind)), rank_of[place], rank_of[lowest[place]]});
    }
  }
  return rows;
}

std::vector<int> lowest_ranks(const Timeline& timeline) {
  std::vector<int> ranks(timeline.ranks.size());
  for (int rank = rank_count(timeline) - 1; rank >= 0; --rank)
    ranks[place_of(timeline, rank)] = rank;
  return ranks;
}

}  // namespace

TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes) {
  TimelineRows rows;
  rows.timeline.duration_s = timeline.duration_s;
  rows.ops = op_rows(program);
  rows.edges = edge_rows(program);
  const FirstRanks first = first_ranks(program, groups);
  std::vector<int> ranks(static_cast<std::size_t>(groups.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  rows.groups = group_rows(first, ranks);
  const FirstRanks places = first_places(first, timeline);
  const LastArrivals arrivals(program, timeline, places);
  const AllRoutedRows routed(program, routing);
  for (int rank = 0; rank < rank_count(timeline); ++rank) {
    const Binding binding = routed.bind(groups, rank);
    for (const OpSpan& span : spans_of(timeline, rank)) {
      const Op& op = program.ops[span.op];
      const Work work = work_of(program, op, binding, groups, rank);
      std::int64_t bytes = work.memory_bytes;
      if (is_communication(op)) {
        bytes = sent_bytes.empty() ? work.wire_bytes : sent_bytes[rank][span.op];
      }
      rows.spans.push_back({0, rank, span.op, span.start_s, span.duration_s, bytes, work.flops,
                            arrivals.waiting_s(span, place_of(timeline, rank))});
    }
  }
  return rows;
}

db::Timeline asked_timeline(const Program& program, const Timeline& timeline,
                            const Groups& groups) {
  db::TimelineInfo info;
  info.duration_s = timeline.duration_s;
  const std::vector<db::TimelineOp> ops = op_rows(program);
  db::Timeline asked = db::begin_timeline(info, ops);
  db::OpIndex index(ops);
  db::LaneBuilder builder(index);
  const FirstRanks places = first_places(first_ranks(program, groups), timeline);
  const LastArrivals arrivals(program, timeline, places);
  const std::vector<int> rank_of = lowest_ranks(timeline);
  for (std::size_t place = 0; place < timeline.ranks.size(); ++place) {
    for (const OpSpan& span : timeline.ranks[place]) {
      builder.add({0, rank_of[place], span.op, span.start_s, span.duration_s, 0, 0,
                   arrivals.waiting_s(span, static_cast<int>(place))});
    }
    db::append_rank(asked, builder.take(rank_of[place]));
  }
  asked.like = timeline.like;
  db::finish_timeline(asked);
  db::link_ops(asked, edge_rows(program), group_rows(places, rank_of));
  return asked;
}

std::int64_t insert(db::Connection& connection, const TimelineRows& rows) {
  return db::insert(connection, rows.timeline, rows.ops, rows.spans, rows.edges, rows.groups,
                    rows.memory);
}

}  // namespace moe
