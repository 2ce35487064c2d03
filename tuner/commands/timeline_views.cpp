#include "tuner/commands/timeline_views.h"

#include <cstdint>
#include <iostream>
#include <string>

#include "db/console/format_rows.h"
#include "tuner/commands/printing.h"
#include "tuner/simulate/breakdown.h"
#include "tuner/simulate/timeline_text.h"

namespace tuner {
namespace {

/// Empty for ops outside the blocks.
db::Cell layer_cell(int layer) { return layer < 0 ? db::Cell() : db::Cell(std::int64_t{layer}); }

}  // namespace

void print_timeline(const Prediction& prediction, const Arguments& arguments) {
  const db::Style style = style_of(arguments);
  if (style.format == db::Format::table) {
    std::cout << timeline_text(prediction.program, prediction.timeline);
    return;
  }
  db::RowWriter writer(stdout, style,
                       {"rank", "stream", "start_s", "duration_s", "op", "kind", "phase", "layer",
                        "share", "shares"});
  for (int rank = 0; rank < moe::rank_count(prediction.timeline); ++rank) {
    for (const moe::OpSpan& span : moe::spans_of(prediction.timeline, rank)) {
      const moe::Op& op = prediction.program.ops[span.op];
      const moe::Slice share = moe::share_of(op);
      writer.row({std::int64_t{rank}, std::string(moe::stream_name(op.stream)), span.start_s,
                  span.duration_s, op.name, std::string(moe::kind_name(op)),
                  std::string(moe::phase_name(op.phase)), layer_cell(op.layer),
                  static_cast<std::int64_t>(share.index) + 1,
                  static_cast<std::int64_t>(share.count)});
    }
  }
  writer.finish();
}

void print_breakdown(const Prediction& prediction, const Arguments& arguments) {
  db::RowWriter writer(stdout, style_of(arguments),
                       {"layer", "phase", "op", "kind", "stream", "calls", "time_s",
                        "longest_rank_s", "of_layer_share"});
  for (const BreakdownRow& row : breakdown(prediction.program, prediction.timeline)) {
    writer.row({layer_cell(row.layer), std::string(moe::phase_name(row.phase)), row.op, row.kind,
                std::string(moe::stream_name(row.stream)), row.calls, row.time_s,
                row.longest_rank_s, row.of_layer_share});
  }
  writer.finish();
}

}  // namespace tuner
