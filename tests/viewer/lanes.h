#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/viewer/synthetic_timeline.h"
#include "viewer/model/timeline.h"

/// Timelines written down by hand, for tests.
namespace viewer {

struct HandSpan {
  int rank = 0;
  std::string stream;
  std::string kind;
  double start_s = 0;
  double end_s = 0;
  std::string activity = {};  ///< empty: what runs on such a stream where nothing shares it
};

/// One op per span, in the order given.
inline Timeline hand_timeline(const std::vector<HandSpan>& hand, std::int64_t id = 1) {
  db::Timeline info;
  info.id = id;
  info.kind = "measured";
  std::vector<db::TimelineOp> ops;
  std::vector<db::Span> spans;
  for (const HandSpan& span : hand) {
    const int op = static_cast<int>(ops.size());
    db::TimelineOp row;
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

}  // namespace viewer
