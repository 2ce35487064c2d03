#include "db/timeline/op_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::op_table_test {
namespace {

constexpr double kTick_s = 1.0 / 1024;

// Every figure of a row, moment by moment: a tick counts for a span where its middle is inside.
struct Counted {
  std::size_t count = 0;
  double total_s = 0, exposed_s = 0, waiting_s = 0;
};

bool runs_at(const LaneSpan& span, double middle_s) {
  return span.start_s < middle_s && middle_s < span.end_s;
}

bool computes_at(const Timeline& timeline, int rank, double middle_s) {
  for (const Lane& lane : timeline.lanes) {
    if (lane.rank != rank || lane.stream != "compute") continue;
    for (const LaneSpan& span : lane.spans) {
      if (runs_at(span, middle_s)) return true;
    }
  }
  return false;
}

bool all_began(const Timeline& timeline, std::int32_t op, int group, double middle_s) {
  for (const Lane& lane : timeline.lanes) {
    if (lane.rank % 2 != group) continue;
    for (const LaneSpan& span : lane.spans) {
      if (span.op == op && span.start_s > middle_s) return false;
    }
  }
  return true;
}

Counted count_by_ticks(const Timeline& timeline, const std::vector<std::int32_t>& ops,
                       TimeInterval range) {
  Counted counted;
  for (const Lane& lane : timeline.lanes) {
    for (const LaneSpan& span : lane.spans) {
      if (std::find(ops.begin(), ops.end(), span.op) == ops.end()) continue;
      bool any = false;
      for (double at_s = range.begin_s + kTick_s / 2; at_s < range.end_s; at_s += kTick_s) {
        if (!runs_at(span, at_s)) continue;
        any = true;
        counted.total_s += kTick_s;
        if (lane.stream == "compute") continue;
        if (!computes_at(timeline, lane.rank, at_s)) counted.exposed_s += kTick_s;
        if (!all_began(timeline, span.op, lane.rank % 2, at_s)) counted.waiting_s += kTick_s;
      }
      if (any) ++counted.count;
    }
  }
  return counted;
}

TEST(OpTable, FiguresAreThoseCountedTickByTick) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Timeline timeline = random_timeline(seed);
    const SpanIndex index = index_spans(timeline);
    const TimeInterval part{16 * kTick_s, 64 * kTick_s};
    for (const TimeInterval range : {timeline.extent, part}) {
      for (const OpGrouping grouping : {OpGrouping::kind, OpGrouping::op}) {
        for (const OpRow& row : op_table(timeline, index, range, grouping)) {
          const Counted counted = count_by_ticks(timeline, row.ops, range);
          EXPECT_EQ(row.count, counted.count) << row.name;
          EXPECT_NEAR(row.total_s, counted.total_s, 1e-12) << row.name;
          EXPECT_NEAR(row.exposed_s, counted.exposed_s, 1e-12) << row.name;
          EXPECT_NEAR(row.waiting_s, counted.waiting_s, 1e-12) << row.name;
        }
      }
    }
  }
}

TEST(OpTable, RowsOfOpsHoldAllChunksAndAddUpToThoseOfKinds) {
  const Timeline timeline = random_timeline(4);
  const SpanIndex index = index_spans(timeline);
  const auto total = [&](OpGrouping grouping) {
    double sum_s = 0;
    for (const OpRow& row : op_table(timeline, index, timeline.extent, grouping)) {
      sum_s += row.total_s;
    }
    return sum_s;
  };
  EXPECT_GT(total(OpGrouping::op), 0);
  EXPECT_DOUBLE_EQ(total(OpGrouping::op), total(OpGrouping::kind));
  for (const OpRow& row : op_table(timeline, index, timeline.extent, OpGrouping::op)) {
    for (const std::int32_t op : row.ops) {
      EXPECT_EQ(timeline.ops[static_cast<std::size_t>(op)].layer, row.sample.layer);
      EXPECT_EQ(timeline.ops[static_cast<std::size_t>(op)].name, row.sample.name);
    }
  }
}

// Rank 0 computes 0-4; of its three exchanges the shortest has the longest exposed part.
Timeline three_exchanges() {
  return hand_timeline({{0, "compute", "linear", 0, 4},
                        {0, "inter_node", "all_to_all", 0, 4.5},
                        {0, "inter_node", "all_to_all", 5, 6},
                        {0, "inter_node", "all_to_all", 7, 7.75}});
}

TEST(OpTable, SpansAreWalkedFromTheLongestExposed) {
  const Timeline timeline = three_exchanges();
  const SpanIndex index = index_spans(timeline);
  const auto rows = op_table(timeline, index, timeline.extent, OpGrouping::kind);
  ASSERT_EQ(rows.front().name, "all to all");
  const std::vector<SpanPosition> expected = {{1, 1}, {1, 2}, {1, 0}};
  EXPECT_EQ(longest_first(timeline, index, rows.front(), timeline.extent), expected);
  const std::vector<SpanPosition> inside = {{1, 2}};
  EXPECT_EQ(longest_first(timeline, index, rows.front(), {6.5, 8}), inside);
}

TEST(OpTable, AHistogramCountsEveryValueOnce) {
  EXPECT_EQ(histogram({0, 1, 2, 3, 4}, 2), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(histogram({5, 5, 5}, 8), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(histogram({}, 8).empty());
}

TEST(OpTable, SearchFindsNameLayerPhaseAndChunk) {
  Timeline timeline;
  const auto add = [&](const char* name, const char* kind, int layer, const char* phase, int chunk,
                       int chunks) {
    TimelineOp op;
    op.name = name;
    op.kind = kind;
    op.layer = layer;
    op.phase = phase;
    op.chunk = chunk;
    op.chunks = chunks;
    timeline.ops.push_back(op);
  };
  add("all_to_all dispatch", "all_to_all", 1, "forward", 0, 2);
  add("all_to_all dispatch", "all_to_all", 11, "forward", 1, 2);
  add("experts down", "expert_linear", 1, "backward", 0, 1);
  const auto found = [&](const char* text) { return matching_ops(timeline, text); };
  EXPECT_EQ(found("dispatch"), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(found("DISPATCH layer 1"), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(found("layer 1"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(found("backward experts"), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(found("chunk 2/2"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(found("chunk 1"), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(found("nothing of it"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(found("  "), (std::vector<bool>{false, false, false}));
}

TEST(OpTable, ARangeIsComparedWithTheSameOpsElsewhere) {
  // The range holds all of the first op and half of the third; in the other timeline all is faster,
  // and nothing lies at the same seconds.
  const Timeline measured = hand_timeline({{0, "compute", "linear", 0, 4},
                                           {0, "compute", "gelu", 4, 5},
                                           {0, "compute", "softmax", 5, 7},
                                           {1, "compute", "linear", 8, 9}});
  const Timeline predicted = hand_timeline({{0, "compute", "linear", 10, 11},
                                            {0, "compute", "gelu", 11, 11.5},
                                            {0, "compute", "softmax", 12, 13},
                                            {1, "compute", "linear", 13, 14}});
  const SpanIndex index = index_spans(measured), other = index_spans(predicted);
  EXPECT_EQ(same_ops_s(measured, index, {0, 6}, predicted, other, OpGrouping::kind),
            (std::map<std::string, double>{{"linear", 1}, {"gelu", 0.5}, {"softmax", 0.5}}));
  EXPECT_TRUE(same_ops_s(measured, index, {7.5, 7.6}, predicted, other, OpGrouping::kind).empty());
}

}  // namespace
}  // namespace db::op_table_test
