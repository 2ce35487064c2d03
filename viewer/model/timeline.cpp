#include "viewer/model/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace viewer {

namespace {

// Positions of ops in the database need not be dense (a filtered import), those in memory are.
class OpIndex {
 public:
  explicit OpIndex(std::vector<db::TimelineOp> ops) : ops_(std::move(ops)) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      index_.emplace(ops_[i].op, static_cast<std::int32_t>(i));
    }
  }

  std::int32_t find_or_add(int op) {
    const auto [found, added] = index_.emplace(op, static_cast<std::int32_t>(ops_.size()));
    if (added) {
      db::TimelineOp unnamed;
      unnamed.op = op;
      unnamed.name = "op " + std::to_string(op);
      unnamed.kind = "unknown";
      unnamed.stream = "other";
      ops_.push_back(std::move(unnamed));
    }
    return found->second;
  }

  const std::string& stream(std::int32_t op) const { return ops_[op].stream; }
  std::vector<db::TimelineOp> take() { return std::move(ops_); }

 private:
  std::vector<db::TimelineOp> ops_;
  std::unordered_map<int, std::int32_t> index_;
};

using StreamKey = std::tuple<int, int, std::string>;  // rank, order of the stream, stream

void append_rows(const StreamKey& key, std::vector<LaneSpan> spans, std::vector<Lane>& lanes) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const LaneSpan& a, const LaneSpan& b) { return a.start_s < b.start_s; });
  std::vector<Lane> rows;
  for (const LaneSpan& span : spans) {
    const auto fits = [&](const Lane& row) {
      return row.spans.back().end_s <= span.start_s + kTouching_s;
    };
    auto row = std::find_if(rows.begin(), rows.end(), fits);
    if (row == rows.end()) {
      rows.push_back({std::get<0>(key), std::get<2>(key), static_cast<int>(rows.size()), {}, {}});
      row = std::prev(rows.end());
    }
    row->spans.push_back(span);
  }
  for (Lane& row : rows) {
    row.busy_before_s.reserve(row.spans.size() + 1);
    double busy_s = 0;
    for (const LaneSpan& span : row.spans) {
      row.busy_before_s.push_back(busy_s);
      busy_s += span.duration_s();
    }
    row.busy_before_s.push_back(busy_s);
    lanes.push_back(std::move(row));
  }
}

}  // namespace

int stream_order(const std::string& stream) {
  constexpr std::array<std::string_view, 5> kOrder = {"compute", "inter_node", "intra_node", "copy",
                                                      "host"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), stream) - kOrder.begin());
}

Timeline build_timeline(db::Timeline info, std::vector<db::TimelineOp> ops,
                        const std::vector<db::Span>& spans) {
  Timeline timeline;
  timeline.info = std::move(info);
  OpIndex index(std::move(ops));

  std::map<StreamKey, std::vector<LaneSpan>> streams;
  std::map<std::pair<int, std::int32_t>, std::vector<LaneSpan>*>
      stream_of;  // (rank, op) -> its stream
  for (const db::Span& span : spans) {
    if (!std::isfinite(span.start_s) || !std::isfinite(span.duration_s) || span.duration_s < 0) {
      continue;
    }
    const std::int32_t op = index.find_or_add(span.op);
    std::vector<LaneSpan>*& into = stream_of[{span.rank, op}];
    if (into == nullptr) {
      const std::string& stream = index.stream(op);
      into = &streams[{span.rank, stream_order(stream), stream}];
    }
    const LaneSpan placed{span.start_s, span.start_s + span.duration_s,
                          op,           static_cast<float>(span.waiting_s.value_or(0)),
                          span.bytes,   span.flops};
    into->push_back(placed);
    const bool first = timeline.spans++ == 0;
    timeline.extent.begin_s =
        first ? placed.start_s : std::min(timeline.extent.begin_s, placed.start_s);
    timeline.extent.end_s = first ? placed.end_s : std::max(timeline.extent.end_s, placed.end_s);
  }
  const TimeRange whole{0, timeline.info.duration_s};
  const bool inside = timeline.extent.begin_s >= whole.begin_s &&
                      timeline.extent.end_s <= whole.end_s + kTouching_s;
  if (timeline.spans > 0 && inside) timeline.extent = whole;
  for (auto& [key, unsorted] : streams) append_rows(key, std::move(unsorted), timeline.lanes);
  timeline.ops = index.take();
  return timeline;
}

void link_ops(Timeline& timeline, const std::vector<db::OpEdge>& edges,
              const std::vector<db::RankGroup>& groups) {
  std::unordered_map<int, std::int32_t> index;
  for (std::size_t i = 0; i < timeline.ops.size(); ++i) {
    index.emplace(timeline.ops[i].op, static_cast<std::int32_t>(i));
  }
  timeline.waits_for.assign(edges.empty() ? 0 : timeline.ops.size(), {});
  for (const db::OpEdge& edge : edges) {
    const auto op = index.find(edge.op), before = index.find(edge.before);
    if (op == index.end() || before == index.end()) continue;
    timeline.waits_for[static_cast<std::size_t>(op->second)].push_back(before->second);
  }
  timeline.first_rank.clear();
  for (const db::RankGroup& group : groups) {
    timeline.first_rank[group.kind][group.rank] = group.first_rank;
  }
}

std::size_t first_ending_after(const Lane& lane, double time_s) {
  const auto found =
      std::partition_point(lane.spans.begin(), lane.spans.end(),
                           [&](const LaneSpan& span) { return span.end_s <= time_s; });
  return static_cast<std::size_t>(found - lane.spans.begin());
}

std::size_t first_starting_at(const Lane& lane, double time_s) {
  const auto found =
      std::partition_point(lane.spans.begin(), lane.spans.end(),
                           [&](const LaneSpan& span) { return span.start_s < time_s; });
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

}  // namespace viewer
