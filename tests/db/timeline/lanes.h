#pragma once

#include <string>
#include <utility>
#include <vector>

#include "db/timeline/timeline.h"

/// Timelines written down by hand, for tests.
namespace db {

struct HandSpan {
  int rank = 0;
  std::string stream;
  std::string kind;
  double start_s = 0;
  double end_s = 0;
  std::string activity = {};  ///< empty: what runs on such a stream where nothing shares it
};

/// What ops of a stream are, where the stream alone tells: as TimelineOp has it.
inline std::string activity_of_stream(const std::string& stream) {
  if (stream == "inter_node" || stream == "intra_node") return "communication";
  return stream == "copy" || stream == "host" ? stream : "computation";
}

/// One op per span, in the order given.
inline Timeline hand_timeline(const std::vector<HandSpan>& hand, std::int64_t id = 1) {
  TimelineInfo info;
  info.id = id;
  info.kind = "measured";
  std::vector<TimelineOp> ops;
  std::vector<Span> spans;
  for (const HandSpan& span : hand) {
    const int op = static_cast<int>(ops.size());
    TimelineOp row;
    row.timeline_id = id;
    row.op = op;
    row.name = row.kind = span.kind;
    row.activity = span.activity.empty() ? activity_of_stream(span.stream) : span.activity;
    row.stream = span.stream;
    row.phase = "forward";
    ops.push_back(row);
    spans.push_back({id, span.rank, op, span.start_s, span.end_s - span.start_s, 0, 0});
  }
  return build_timeline(info, ops, spans);
}

}  // namespace db
