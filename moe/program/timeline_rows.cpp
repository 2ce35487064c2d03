#include "moe/program/timeline_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "db/store.h"
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

}  // namespace

TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes) {
  TimelineRows rows;
  rows.timeline.duration_s = timeline.duration_s;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const std::optional<GroupKind> group = group_of(op);
    rows.ops.push_back({0, static_cast<int>(i), op.name, std::string(kind_name(op)),
                        std::string(activity_name(facts_of(op).activity)),
                        std::string(stream_name(op.stream)), std::string(phase_name(op.phase)),
                        op.layer, share_of(op).index, share_of(op).count,
                        group ? std::string(group_name(*group)) : ""});
  }
  rows.edges = edge_rows(program);
  const FirstRanks first = first_ranks(program, groups);
  for (const auto& [kind, of_rank] : first) {
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      rows.groups.push_back(
          {0, std::string(group_name(kind)), static_cast<int>(rank), of_rank[rank]});
    }
  }
  const LastArrivals arrivals(program, timeline, first);
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
                            arrivals.waiting_s(span, rank)});
    }
  }
  return rows;
}

std::int64_t insert(db::Connection& connection, const TimelineRows& rows) {
  return db::insert(connection, rows.timeline, rows.ops, rows.spans, rows.edges, rows.groups,
                    rows.memory);
}

}  // namespace moe
