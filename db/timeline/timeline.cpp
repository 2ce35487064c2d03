#include "db/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "db/timeline/lane_builder.h"

namespace db {

int stream_order(const std::string& stream) {
  constexpr std::array<std::string_view, 5> kOrder = {"compute", "inter_node", "intra_node", "copy",
                                                      "host"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), stream) - kOrder.begin());
}

Timeline begin_timeline(TimelineInfo info, std::vector<TimelineOp> ops) {
  Timeline timeline;
  timeline.info = std::move(info);
  timeline.ops = std::move(ops);
  for (const TimelineOp& op : timeline.ops) timeline.counted.push_back(counted_as(op));
  timeline.extent = {0, timeline.info.duration_s};
  timeline.complete = false;
  return timeline;
}

void append_unnamed(Timeline& timeline, std::vector<TimelineOp> ops) {
  for (TimelineOp& op : ops) {
    timeline.counted.emplace_back();
    timeline.ops.push_back(std::move(op));
    if (!timeline.waits_for.empty()) timeline.waits_for.emplace_back();
  }
}

void append_rank(Timeline& timeline, RankLanes rank) {
  if (rank.spans == 0) return;
  rank.ledger.first_lane = timeline.lanes.size();
  timeline.ledgers.push_back(std::move(rank.ledger));
  std::move(rank.lanes.begin(), rank.lanes.end(), std::back_inserter(timeline.lanes));
  const bool first = timeline.spans == 0;
  timeline.spans += rank.spans;
  timeline.recorded.begin_s =
      first ? rank.extent.begin_s : std::min(timeline.recorded.begin_s, rank.extent.begin_s);
  timeline.recorded.end_s =
      first ? rank.extent.end_s : std::max(timeline.recorded.end_s, rank.extent.end_s);
}

void finish_timeline(Timeline& timeline) {
  const TimeInterval whole{0, timeline.info.duration_s};
  const bool inside = timeline.recorded.begin_s >= whole.begin_s &&
                      timeline.recorded.end_s <= whole.end_s + kTouching_s;
  timeline.extent = timeline.spans > 0 && inside ? whole : timeline.recorded;
  timeline.complete = true;
}

Timeline build_timeline(TimelineInfo info, std::vector<TimelineOp> ops,
                        const std::vector<Span>& spans) {
  Timeline timeline = begin_timeline(std::move(info), std::move(ops));
  std::map<int, std::vector<const Span*>> by_rank;
  for (const Span& span : spans) by_rank[span.rank].push_back(&span);
  const std::vector<TimelineOp> named = timeline.ops;  // those of the timeline will grow
  OpIndex index(named);
  LaneBuilder builder(index);
  for (const auto& [rank, of_rank] : by_rank) {
    for (const Span* span : of_rank) builder.add(*span);
    RankLanes lanes = builder.take(rank);
    append_unnamed(timeline, index.take_unnamed());
    append_rank(timeline, std::move(lanes));
  }
  finish_timeline(timeline);
  return timeline;
}

void link_ops(Timeline& timeline, const std::vector<OpEdge>& edges,
              const std::vector<RankGroup>& groups) {
  std::unordered_map<int, std::int32_t> index;
  for (std::size_t i = 0; i < timeline.ops.size(); ++i) {
    index.emplace(timeline.ops[i].op, static_cast<std::int32_t>(i));
  }
  timeline.waits_for.assign(edges.empty() ? 0 : timeline.ops.size(), {});
  for (const OpEdge& edge : edges) {
    const auto op = index.find(edge.op), before = index.find(edge.before);
    if (op == index.end() || before == index.end()) continue;
    timeline.waits_for[static_cast<std::size_t>(op->second)].push_back(before->second);
  }
  timeline.first_rank.clear();
  for (const RankGroup& group : groups) {
    timeline.first_rank[group.kind][group.rank] = group.first_rank;
  }
}

std::span<const Lane> lanes_of(const Timeline& timeline, const TimeLedger& rank) {
  return std::span(timeline.lanes).subspan(rank.first_lane, rank.lanes);
}

std::vector<const TimeLedger*> ledgers_by_rank(const Timeline& timeline) {
  std::vector<const TimeLedger*> ledgers;
  if (timeline.like.empty()) {
    for (const TimeLedger& ledger : timeline.ledgers) ledgers.push_back(&ledger);
  }
  for (const int place : timeline.like) ledgers.push_back(&timeline.ledgers[place]);
  return ledgers;
}

double transfer_s(const LaneSpan& span) {
  return std::max(0.0, span.duration_s() - span.waiting_s);
}

std::size_t first_ending_after(const Lane& lane, double time_s) {
  // The spans that start before it end before it too, but for the last of them.
  std::size_t after = first_starting_at(lane, time_s);
  if (after > 0 && lane.spans[after - 1].end_s > time_s) return after - 1;
  while (after < lane.spans.size() && lane.spans[after].end_s <= time_s) ++after;  // no length
  return after;
}

std::size_t first_starting_at(const Lane& lane, double time_s) {
  return first_starting_at(lane, time_s, 0);
}

std::size_t first_starting_at(const Lane& lane, double time_s, std::size_t from) {
  auto begin = lane.spans.begin() + static_cast<std::ptrdiff_t>(from), end = lane.spans.end();
  if (!lane.blocks.empty()) {
    // Blocks that begin before it: what is looked for lies in the last of them, or right after.
    const auto first = lane.blocks.begin() + static_cast<std::ptrdiff_t>(from / kBlockSpans);
    const auto block = std::partition_point(
        first, lane.blocks.end(), [&](const LaneBlock& of) { return of.start_s < time_s; });
    const auto blocks = static_cast<std::size_t>(block - lane.blocks.begin());
    const std::size_t stop = std::min(blocks * kBlockSpans, lane.spans.size());
    const std::size_t start = blocks == 0 ? 0 : (blocks - 1) * kBlockSpans;
    begin = lane.spans.begin() + static_cast<std::ptrdiff_t>(std::max(from, start));
    end = lane.spans.begin() + static_cast<std::ptrdiff_t>(std::max(from, stop));
  }
  const auto found =
      std::partition_point(begin, end, [&](const LaneSpan& span) { return span.start_s < time_s; });
  return static_cast<std::size_t>(found - lane.spans.begin());
}

std::optional<std::size_t> span_at(const Lane& lane, double time_s, double tolerance_s) {
  const auto distance = [&](std::size_t i) {
    const LaneSpan& span = lane.spans[i];
    return std::max({span.start_s - time_s, time_s - span.end_s, 0.0});
  };
  const std::size_t after = first_ending_after(lane, time_s);
  std::optional<std::size_t> best;
  if (after < lane.spans.size() && distance(after) <= tolerance_s) best = after;
  if (after > 0 && distance(after - 1) <= tolerance_s) {
    if (!best || distance(after - 1) < distance(after)) best = after - 1;
  }
  return best;
}

}  // namespace db
