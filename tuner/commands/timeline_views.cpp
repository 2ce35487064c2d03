#include "tuner/commands/timeline_views.h"

#include <cstdint>
#include <iostream>
#include <vector>

#include "db/console/format_rows.h"
#include "db/timeline/breakdown.h"
#include "db/timeline/timeline_text.h"
#include "tuner/commands/printing.h"

namespace tuner {
namespace {

/// Empty for ops outside the blocks.
db::Cell layer_cell(int layer) { return layer < 0 ? db::Cell() : db::Cell(std::int64_t{layer}); }

}  // namespace

void print_timeline(const db::Timeline& timeline, const Arguments& arguments) {
  const db::Style style = style_of(arguments);
  if (style.format == db::Format::table) {
    std::cout << db::timeline_text(timeline);
    return;
  }
  db::RowWriter writer(stdout, style,
                       {"rank", "stream", "start_s", "duration_s", "op", "kind", "phase", "layer",
                        "share", "shares"});
  const std::vector<const db::TimeLedger*> ranks = db::ledgers_by_rank(timeline);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const db::Lane& lane : db::lanes_of(timeline, *ranks[rank])) {
      for (const db::LaneSpan& span : lane.spans) {
        const db::TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
        writer.row({static_cast<std::int64_t>(rank), lane.stream, span.start_s, span.duration_s(),
                    op.name, op.kind, op.phase, layer_cell(op.layer), std::int64_t{op.chunk} + 1,
                    std::int64_t{op.chunks}});
      }
    }
  }
  writer.finish();
}

void print_breakdown(const db::Timeline& timeline, const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments),
                       {"layer", "phase", "op", "kind", "stream", "calls", "time_s",
                        "longest_rank_s", "of_layer_share"});
  for (const db::BreakdownRow& row : db::breakdown(timeline)) {
    const db::TimelineOp& op = row.sample;
    writer.row({layer_cell(op.layer), op.phase, op.name, op.kind, op.stream, row.calls, row.time_s,
                row.longest_rank_s, row.of_layer_share});
  }
  writer.finish();
}

}  // namespace tuner
