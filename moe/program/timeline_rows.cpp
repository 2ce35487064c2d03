#include "moe/program/timeline_rows.h"

#include "moe/program/row_handling.h"
#include "moe/program/work.h"

namespace moe {

TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes) {
  TimelineRows rows;
  rows.timeline.duration_s = timeline.duration_s;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    rows.ops.push_back({0, static_cast<int>(i), op.name, std::string(kind_name(op)),
                        std::string(activity_name(facts_of(op).activity)),
                        std::string(stream_name(op.stream)), std::string(phase_name(op.phase)),
                        op.layer, share_of(op).index, share_of(op).count});
  }
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
      rows.spans.push_back({0, rank, span.op, span.start_s, span.duration_s, bytes, work.flops});
    }
  }
  return rows;
}

}  // namespace moe
