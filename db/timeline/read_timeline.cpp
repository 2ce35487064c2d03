#include "db/timeline/read_timeline.h"

#include <utility>

#include "db/load.h"
#include "db/timeline/lane_builder.h"

namespace db {

Timeline read_timeline(const Connection& connection, const TimelineInfo& info) {
  const std::vector<TimelineOp> ops = load_timeline_ops(connection, info.id);
  OpIndex index(ops);
  LaneBuilder builder(index);
  Timeline timeline = begin_timeline(info, ops);
  link_ops(timeline, load_op_edges(connection, info.id), load_rank_groups(connection, info.id));
  for (const int rank : load_span_ranks(connection, info.id)) {
    visit_spans(connection, info.id, rank, [&](const Span& span) {
      builder.add(span);
      return true;
    });
    RankLanes lanes = builder.take(rank);
    append_unnamed(timeline, index.take_unnamed());
    append_rank(timeline, std::move(lanes));
  }
  finish_timeline(timeline);
  return timeline;
}

MemoryTable read_memory(const Connection& connection, const TimelineInfo& info) {
  std::vector<RunRank> ranks;
  if (info.kind == kMeasured && info.run_id) ranks = load_run_ranks(connection, *info.run_id);
  return build_memory_table(load_timeline_memory(connection, info.id), ranks);
}

}  // namespace db
