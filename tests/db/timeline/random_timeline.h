#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "db/timeline/timeline.h"

/// Timelines drawn at random, on which figures are compared with sums by brute force.
namespace db {

/// Four ranks in two groups, each with a stream of computation and one of communication; ops in
/// chunks, with edges to ops before. Times are multiples of 2^-10 s, so that sums are exact.
inline Timeline random_timeline(unsigned seed, std::int64_t id = 1) {
  constexpr double kTick_s = 1.0 / 1024;
  constexpr int kRanks = 4, kOps = 24;
  constexpr std::array kKinds = {"linear", "gelu", "all_to_all", "all_reduce"};
  std::mt19937 random(seed);
  const auto draw = [&](int most) { return static_cast<int>(random() % unsigned(most + 1)); };
  std::vector<TimelineOp> ops;
  std::vector<OpEdge> edges;
  for (int i = 0; i < kOps; ++i) {
    TimelineOp op;
    op.op = 3 * i;  // numbers need not be dense
    op.kind = kKinds[static_cast<std::size_t>(draw(3))];
    const bool exchanges = op.kind.starts_with("all_");
    op.name = op.kind + (draw(1) == 0 ? " one" : " two");
    op.activity = exchanges ? "communication" : "computation";
    op.stream = exchanges ? "inter_node" : "compute";
    op.phase = draw(1) == 0 ? "forward" : "backward";
    op.layer = draw(2);
    op.chunks = 1 + draw(1);
    op.chunk = draw(op.chunks - 1);
    if (exchanges) op.group_kind = "expert";
    if (i > 0) edges.push_back({id, op.op, 3 * draw(i - 1)});
    ops.push_back(op);
  }
  std::vector<Span> spans;
  std::vector<RankGroup> groups;
  for (int rank = 0; rank < kRanks; ++rank) {
    groups.push_back({id, "expert", rank, rank % 2});
    std::array<double, 2> free_s{};
    for (const TimelineOp& op : ops) {
      double& at_s = free_s[op.stream == "compute" ? 0 : 1];
      at_s += draw(3) * kTick_s;
      const double duration_s = (1 + draw(20)) * kTick_s;
      spans.push_back({id, rank, op.op, at_s, duration_s, 0, 0});
      at_s += duration_s;
    }
  }
  TimelineInfo info;
  info.id = id;
  info.kind = "measured";
  Timeline timeline = build_timeline(info, ops, spans);
  link_ops(timeline, edges, groups);
  return timeline;
}

}  // namespace db
