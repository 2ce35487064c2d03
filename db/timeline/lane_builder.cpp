#include "db/timeline/lane_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "db/timeline/time_ledger.h"

namespace db {

namespace {

const std::string& stream_of_unnamed() {
  static const std::string other = "other";
  return other;
}

bool overlaps(const LaneSpan& before, const LaneSpan& span) {
  return before.end_s > span.start_s + kTouching_s;
}

// Spans of a stream, sorted by start, on as many rows as they need.
std::vector<std::vector<LaneSpan>> rows_of(std::vector<LaneSpan> spans) {
  std::vector<std::vector<LaneSpan>> rows;
  if (std::adjacent_find(spans.begin(), spans.end(), overlaps) == spans.end()) {
    rows.push_back(std::move(spans));
    return rows;
  }
  for (const LaneSpan& span : spans) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const auto& of) { return !overlaps(of.back(), span); });
    if (row == rows.end()) row = rows.emplace(rows.end());
    row->push_back(span);
  }
  return rows;
}

void add_sums(Lane& lane) {
  lane.busy_before_s.reserve(lane.spans.size() + 1);
  lane.blocks.reserve(lane.spans.size() / kBlockSpans + 1);
  double busy_s = 0;
  for (std::size_t i = 0; i < lane.spans.size(); ++i) {
    const LaneSpan& span = lane.spans[i];
    lane.busy_before_s.push_back(busy_s);
    busy_s += span.duration_s();
    const auto duration_s = static_cast<float>(span.duration_s());
    if (i % kBlockSpans == 0) lane.blocks.push_back({span.start_s, duration_s, span.op});
    if (duration_s <= lane.blocks.back().longest_s) continue;
    lane.blocks.back().longest_s = duration_s;
    lane.blocks.back().longest_op = span.op;
  }
  lane.busy_before_s.push_back(busy_s);
}

}  // namespace

OpIndex::OpIndex(const std::vector<TimelineOp>& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    index_.emplace(ops[i].op, static_cast<std::int32_t>(i));
    activities_.push_back(counted_as(ops[i]));
    streams_.push_back(&ops[i].stream);
  }
}

OpIndex::Place OpIndex::find_or_add(int op) {
  if (const auto named = index_.find(op); named != index_.end()) {
    const auto at = static_cast<std::size_t>(named->second);
    return {named->second, streams_[at], activities_[at]};
  }
  const std::lock_guard lock(mutex_);
  const auto next = static_cast<std::int32_t>(streams_.size() + unnamed_index_.size());
  const auto [found, added] = unnamed_index_.emplace(op, next);
  if (added) {
    TimelineOp unnamed;
    unnamed.op = op;
    unnamed.name = "op " + std::to_string(op);
    unnamed.kind = "unknown";
    unnamed.stream = stream_of_unnamed();
    unnamed_.push_back(std::move(unnamed));
  }
  return {found->second, &stream_of_unnamed(), {}};
}

std::vector<TimelineOp> OpIndex::take_unnamed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unnamed_, {});
}

void LaneBuilder::add(const Span& span) {
  if (!std::isfinite(span.start_s) || !std::isfinite(span.duration_s) || span.duration_s < 0) {
    return;
  }
  auto [found, added] = stream_of_.try_emplace(span.op);
  auto& [op, stream] = found->second;
  if (added) {
    const OpIndex::Place place = index_.find_or_add(span.op);
    op = place.op;
    stream = &streams_[{stream_order(*place.stream), *place.stream}];
    const auto at = static_cast<std::size_t>(op);
    if (activities_.size() <= at) activities_.resize(at + 1);
    activities_[at] = place.activity;
  }
  const LaneSpan placed{span.start_s, span.start_s + span.duration_s,
                        op,           span.waiting_s.value_or(0),
                        span.bytes,   span.flops};
  stream->sorted &= stream->spans.empty() || stream->spans.back().start_s <= placed.start_s;
  stream->spans.push_back(placed);
  const bool first = spans_++ == 0;
  extent_.begin_s = first ? placed.start_s : std::min(extent_.begin_s, placed.start_s);
  extent_.end_s = first ? placed.end_s : std::max(extent_.end_s, placed.end_s);
}

RankLanes LaneBuilder::take(int rank) {
  RankLanes taken;
  for (auto& [key, stream] : streams_) {
    if (!stream.sorted) {
      std::stable_sort(stream.spans.begin(), stream.spans.end(),
                       [](const LaneSpan& a, const LaneSpan& b) { return a.start_s < b.start_s; });
    }
    for (std::vector<LaneSpan>& row : rows_of(std::move(stream.spans))) {
      row.shrink_to_fit();
      Lane lane{rank, key.second, 0, std::move(row), {}};
      const bool same = !taken.lanes.empty() && taken.lanes.back().stream == key.second;
      if (same) lane.row = taken.lanes.back().row + 1;
      add_sums(lane);
      taken.lanes.push_back(std::move(lane));
    }
  }
  taken.ledger = build_ledger(rank, taken.lanes, activities_);
  taken.extent = std::exchange(extent_, {});
  taken.spans = std::exchange(spans_, 0);
  streams_.clear();
  stream_of_.clear();
  return taken;
}

}  // namespace db
