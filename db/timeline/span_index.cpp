#include "db/timeline/span_index.h"

#include <algorithm>
#include <utility>

#include "db/timeline/activity.h"

namespace db {

namespace {

constexpr std::size_t kStep = 1 << 14;  // spans: a fraction of a millisecond

// Adds an interval to merged ones that begin no later. False where one begins later.
bool append_merged(std::vector<TimeInterval>& merged, TimeInterval interval) {
  if (!merged.empty() && interval.begin_s <= merged.back().end_s) {
    if (interval.begin_s < merged.back().begin_s) return false;
    merged.back().end_s = std::max(merged.back().end_s, interval.end_s);
  } else if (interval.length_s() > 0) {
    merged.push_back(interval);
  }
  return true;
}

}  // namespace

std::span<const SpanPosition> SpanIndex::of(std::int32_t op) const {
  return spans[static_cast<std::size_t>(op)];
}

void SpanIndexBuilder::count(const Timeline& timeline, const Lane& lane, std::size_t end) {
  counts_.resize(timeline.ops.size());
  for (; span_ < end; ++span_) ++counts_[static_cast<std::size_t>(lane.spans[span_].op)];
}

void SpanIndexBuilder::append(const Timeline& timeline, const Lane& lane, std::size_t end) {
  index_.spans.resize(timeline.ops.size());
  std::vector<TimeInterval>& computation = index_.computation[lane.rank];
  for (; span_ < end; ++span_) {
    const LaneSpan& span = lane.spans[span_];
    const auto op = static_cast<std::size_t>(span.op);
    std::vector<SpanPosition>& of = index_.spans[op];
    if (of.empty()) of.reserve(counts_[op]);
    of.push_back({lane_, span_});
    if (timeline.counted[op].activity != Activity::computation) continue;
    const TimeInterval range = span.interval();
    if (append_merged(computation, range)) continue;
    computation.push_back(range);
    unsorted_.insert(lane.rank);
  }
}

bool SpanIndexBuilder::go_on(const Timeline& timeline, const std::function<bool()>& is_over) {
  while (!counted_ || lane_ < timeline.lanes.size()) {
    if (lane_ == timeline.lanes.size()) {
      counted_ = true;
      lane_ = span_ = 0;
      continue;
    }
    const Lane& lane = timeline.lanes[lane_];
    const std::size_t end = std::min(span_ + kStep, lane.spans.size());
    if (counted_) {
      append(timeline, lane, end);
    } else {
      count(timeline, lane, end);
    }
    if (end == lane.spans.size()) {
      ++lane_;
      span_ = 0;
    }
    if (is_over()) return false;
  }
  index_.spans.resize(timeline.ops.size());
  while (!unsorted_.empty()) {
    std::vector<TimeInterval>& computation = index_.computation[*unsorted_.begin()];
    computation = merged(std::move(computation));
    unsorted_.erase(unsorted_.begin());
    if (is_over()) return false;
  }
  return true;
}

SpanIndex index_spans(const Timeline& timeline) {
  SpanIndexBuilder builder;
  builder.go_on(timeline, [] { return false; });
  return builder.take();
}

const LaneSpan& span_at(const Timeline& timeline, SpanPosition at) {
  return timeline.lanes[at.lane].spans[at.span];
}

const TimelineOp& op_at(const Timeline& timeline, SpanPosition at) {
  return timeline.ops[static_cast<std::size_t>(span_at(timeline, at).op)];
}

int rank_at(const Timeline& timeline, SpanPosition at) { return timeline.lanes[at.lane].rank; }

double exposed_s(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                 TimeInterval range) {
  if (activity_of(op_at(timeline, at)) != Activity::communication) return 0;
  const LaneSpan& span = span_at(timeline, at);
  const TimeInterval inside = common(span.interval(), range);
  return inside.length_s() - covered_length_s(inside, index.computation.at(rank_at(timeline, at)));
}

double exposed_s(const Timeline& timeline, SpanPosition at) {
  if (activity_of(op_at(timeline, at)) != Activity::communication) return 0;
  const LaneSpan& own = span_at(timeline, at);
  std::vector<TimeInterval> computation;
  for (const Lane& lane : timeline.lanes) {
    if (lane.rank != rank_at(timeline, at)) continue;
    for (std::size_t s = first_ending_after(lane, own.start_s);
         s < lane.spans.size() && lane.spans[s].start_s < own.end_s; ++s) {
      const LaneSpan& span = lane.spans[s];
      const TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
      if (activity_of(op) == Activity::computation) {
        computation.push_back(span.interval());
      }
    }
  }
  computation = merged(std::move(computation));
  return own.duration_s() - covered_length_s(own.interval(), computation);
}

}  // namespace db
