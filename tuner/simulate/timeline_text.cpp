#include "tuner/simulate/timeline_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tuner/costs/intervals.h"

namespace tuner {

std::string timeline_text(const moe::Program& program, const moe::Timeline& timeline) {
  std::string text;
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    for (int stream = 0; stream < moe::kStreamCount; ++stream) {
      std::vector<moe::OpSpan> spans;
      for (const moe::OpSpan& span : timeline.ranks[rank]) {
        if (static_cast<int>(program.ops[static_cast<std::size_t>(span.op)].stream) == stream) {
          spans.push_back(span);
        }
      }
      if (spans.empty()) continue;
      text += fmt::format("rank {} {}\n", rank, moe::stream_name(static_cast<moe::Stream>(stream)));
      for (const moe::OpSpan& span : spans) {
        const moe::Op& op = program.ops[static_cast<std::size_t>(span.op)];
        text += fmt::format("{:12.3f} {:11.3f}  {}", 1e3 * span.start_s,
                            1e3 * (span.start_s + span.duration_s), op.name);
        if (op.layer >= 0) text += fmt::format(", layer {}", op.layer);
        if (op.chunk.count > 1) text += fmt::format(", {}/{}", op.chunk.index + 1, op.chunk.count);
        text += '\n';
      }
    }
  }
  return text;
}

double TimelineSummary::overlap() const {
  return communication_s > 0 ? overlapped_s / communication_s : 1;
}

TimelineSummary summarize(const moe::Program& program, const moe::Timeline& timeline) {
  TimelineSummary summary;
  summary.duration_s = timeline.duration_s;
  for (const auto& spans : timeline.ranks) {
    std::vector<Interval> computing, communicating;
    for (const moe::OpSpan& span : spans) {
      const moe::Op& op = program.ops[static_cast<std::size_t>(span.op)];
      (moe::is_communication(op) ? communicating : computing)
          .push_back({span.start_s, span.start_s + span.duration_s});
    }
    computing = merged(std::move(computing));
    communicating = merged(std::move(communicating));
    const double ranks = static_cast<double>(timeline.ranks.size());
    for (const Interval& interval : computing) {
      summary.computation_s += (interval.end - interval.begin) / ranks;
    }
    for (const Interval& interval : communicating) {
      summary.communication_s += (interval.end - interval.begin) / ranks;
      summary.overlapped_s += covered(interval, computing) / ranks;
    }
  }
  summary.exposed_s = summary.communication_s - summary.overlapped_s;
  return summary;
}

}  // namespace tuner
