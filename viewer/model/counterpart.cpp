#include "viewer/model/counterpart.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace viewer {

namespace {

auto identity(const db::TimelineOp& op) { return std::tie(op.name, op.kind, op.layer, op.phase); }

struct Chunk {
  SpanPosition at;
  double start_s = 0;
  double duration_s = 0;
  int chunk = 0;
  int chunks = 1;
};

// The spans of `rank` whose ops cannot be told from `op`, in the order of time.
std::vector<Chunk> chunks_like(const Timeline& timeline, int rank, const db::TimelineOp& op) {
  std::vector<bool> same;
  for (const db::TimelineOp& other : timeline.ops) same.push_back(identity(other) == identity(op));
  std::vector<Chunk> found;
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    if (timeline.lanes[l].rank != rank) continue;
    const std::vector<LaneSpan>& spans = timeline.lanes[l].spans;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      const auto index = static_cast<std::size_t>(spans[s].op);
      if (!same[index]) continue;
      const db::TimelineOp& of = timeline.ops[index];
      found.push_back({{l, s}, spans[s].start_s, spans[s].duration_s(), of.chunk, of.chunks});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Chunk& a, const Chunk& b) { return a.start_s < b.start_s; });
  return found;
}

// Chunks that make up whole ops, the first op's first. The n-th chunk 2 of 4 belongs to the n-th
// chunk 1 of 4.
std::vector<WholeOp> whole_ops(const std::vector<Chunk>& chunks) {
  std::map<std::pair<int, int>, std::vector<const Chunk*>> alike;  // (chunks, chunk), by time
  for (const Chunk& chunk : chunks) alike[{chunk.chunks, chunk.chunk}].push_back(&chunk);
  std::map<int, std::size_t> begun;  // ops of so many chunks
  std::vector<WholeOp> ops;
  for (const Chunk& first : chunks) {
    if (first.chunk != 0) continue;
    const std::size_t nth = begun[first.chunks]++;
    WholeOp op;
    for (auto parts = alike.find({first.chunks, 0});
         parts != alike.end() && parts->first.first == first.chunks; ++parts) {
      if (nth >= parts->second.size()) continue;
      const Chunk& part = *parts->second[nth];
      op.spans.push_back(part.at);
      op.duration_s += part.duration_s;
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

struct Found {
  std::vector<WholeOp> ops;  ///< the ops that are alike, on one rank, in the order of time
  std::size_t index = 0;     ///< the index of the op that holds the position; ops.size() for none
};

Found find(const Timeline& timeline, SpanPosition position) {
  const Lane& lane = timeline.lanes[position.lane];
  const LaneSpan& span = lane.spans[position.span];
  const db::TimelineOp& op = timeline.ops[span.op];
  Found found{whole_ops(chunks_like(timeline, lane.rank, op)), 0};
  const auto holder = std::find_if(found.ops.begin(), found.ops.end(), [&](const WholeOp& whole) {
    return std::find(whole.spans.begin(), whole.spans.end(), position) != whole.spans.end();
  });
  found.index = static_cast<std::size_t>(holder - found.ops.begin());
  return found;
}

}  // namespace

WholeOp whole_op(const Timeline& timeline, SpanPosition position) {
  Found found = find(timeline, position);
  if (found.index < found.ops.size()) return std::move(found.ops[found.index]);
  return {{position}, timeline.lanes[position.lane].spans[position.span].duration_s()};
}

std::optional<WholeOp> counterpart(const Timeline& timeline, SpanPosition position,
                                   const Timeline& other) {
  const std::size_t index = find(timeline, position).index;
  const Lane& lane = timeline.lanes[position.lane];
  const LaneSpan& span = lane.spans[position.span];
  const db::TimelineOp& op = timeline.ops[span.op];
  std::vector<WholeOp> ops = whole_ops(chunks_like(other, lane.rank, op));
  if (index >= ops.size()) return std::nullopt;
  return std::move(ops[index]);
}

}  // namespace viewer
