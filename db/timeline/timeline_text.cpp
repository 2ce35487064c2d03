#include "db/timeline/timeline_text.h"

#include <fmt/format.h>

#include <vector>

#include "db/timeline/op_label.h"

namespace db {

std::string timeline_text(const Timeline& timeline) {
  std::string text;
  const std::vector<const TimeLedger*> ranks = ledgers_by_rank(timeline);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Lane& lane : lanes_of(timeline, *ranks[rank])) {
      text += fmt::format("rank {} {}\n", rank, lane.stream);
      for (const LaneSpan& span : lane.spans) {
        const TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
        text += fmt::format("{:12.3f} {:11.3f}  {}", 1e3 * span.start_s, 1e3 * span.end_s, op.name);
        if (op.layer >= 0) text += fmt::format(", layer {}", op.layer);
        if (op.chunks > 1) text += ", " + chunk_text(op);
        text += '\n';
      }
    }
  }
  return text;
}

std::string timeline_name(const TimelineInfo& info) {
  std::string of;
  const auto add = [&](const std::string& text) { of += (of.empty() ? "" : ", ") + text; };
  if (info.run_id) add(fmt::format("run {}", *info.run_id));
  if (info.trial_id) add(fmt::format("trial {}", *info.trial_id));
  const std::string iteration = fmt::format("iteration {}", info.iteration);
  if (info.kind == kMeasured) add(iteration);
  if (!info.label.empty() && info.label != iteration) add(info.label);
  return fmt::format("timeline {}{}", info.id, of.empty() ? "" : " (" + of + ")");
}

}  // namespace db
