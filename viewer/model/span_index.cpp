#include "viewer/model/span_index.h"

#include <algorithm>
#include <utility>

#include "viewer/model/activity.h"

namespace viewer {

std::span<const SpanPosition> SpanIndex::of(std::int32_t op) const {
  const auto at = static_cast<std::size_t>(op);
  return std::span(spans).subspan(first[at], first[at + 1] - first[at]);
}

SpanIndex index_spans(const Timeline& timeline) {
  SpanIndex index;
  index.first.assign(timeline.ops.size() + 1, 0);
  std::vector<bool> computes;
  for (const db::TimelineOp& op : timeline.ops) {
    computes.push_back(activity_of(op) == Activity::computation);
  }
  for (const Lane& lane : timeline.lanes) {
    std::vector<TimeRange>& computation = index.computation[lane.rank];
    for (const LaneSpan& span : lane.spans) {
      const auto op = static_cast<std::size_t>(span.op);
      ++index.first[op + 1];
      if (computes[op]) computation.push_back({span.start_s, span.end_s});
    }
  }
  for (auto& [rank, intervals] : index.computation) intervals = db::merged(std::move(intervals));
  for (std::size_t op = 1; op < index.first.size(); ++op) index.first[op] += index.first[op - 1];
  index.spans.resize(index.first.back());
  std::vector<std::size_t> next = index.first;
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const std::vector<LaneSpan>& spans = timeline.lanes[l].spans;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      index.spans[next[static_cast<std::size_t>(spans[s].op)]++] = {l, s};
    }
  }
  return index;
}

const LaneSpan& span_at(const Timeline& timeline, SpanPosition at) {
  return timeline.lanes[at.lane].spans[at.span];
}

const db::TimelineOp& op_at(const Timeline& timeline, SpanPosition at) {
  return timeline.ops[static_cast<std::size_t>(span_at(timeline, at).op)];
}

int rank_at(const Timeline& timeline, SpanPosition at) { return timeline.lanes[at.lane].rank; }

double exposed_s(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                 TimeRange range) {
  if (activity_of(op_at(timeline, at)) != Activity::communication) return 0;
  const LaneSpan& span = span_at(timeline, at);
  const TimeRange inside = common({span.start_s, span.end_s}, range);
  return inside.length_s() -
         db::covered_length_s(inside, index.computation.at(rank_at(timeline, at)));
}

double exposed_s(const Timeline& timeline, SpanPosition at) {
  if (activity_of(op_at(timeline, at)) != Activity::communication) return 0;
  const LaneSpan& own = span_at(timeline, at);
  std::vector<TimeRange> computation;
  for (const Lane& lane : timeline.lanes) {
    if (lane.rank != rank_at(timeline, at)) continue;
    for (std::size_t s = first_ending_after(lane, own.start_s);
         s < lane.spans.size() && lane.spans[s].start_s < own.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      const db::TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
      if (activity_of(op) == Activity::computation) {
        computation.push_back({span.start_s, span.end_s});
      }
    }
  }
  const std::vector<TimeRange> merged = db::merged(std::move(computation));
  return own.duration_s() - db::covered_length_s({own.start_s, own.end_s}, merged);
}

TimeRange common(TimeRange range, TimeRange bounds) {
  range = {std::max(range.begin_s, bounds.begin_s), std::min(range.end_s, bounds.end_s)};
  range.end_s = std::max(range.begin_s, range.end_s);
  return range;
}

}  // namespace viewer
