#include "tuner/simulate/breakdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::breakdown_test {
namespace {

/// Two ops of a name in one layer, and one of another; on two ranks.
TEST(Breakdown, AddsUpCallsOfARankAndTakesTheMeanOfRanks) {
  moe::Program program;
  const auto add = [&](const char* name, int layer) {
    moe::Op op{moe::Add{}, {}, {}, name};
    op.layer = layer;
    program.ops.push_back(op);
  };
  add("one", 1);
  add("other", 1);
  add("one", 1);
  add("never", 1);
  add("end", -1);
  moe::Timeline timeline;
  timeline.ranks = {{{0, 0, 1}, {1, 1, 3}, {2, 4, 1}, {4, 5, 2}},
                    {{0, 0, 3}, {1, 3, 3}, {2, 6, 1}}};
  const std::vector<BreakdownRow> rows = breakdown(program, timeline);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].op, "end");
  EXPECT_EQ(rows[0].time_s, 1);
  EXPECT_EQ(rows[0].longest_rank_s, 2);
  EXPECT_EQ(rows[1].op, "one");
  EXPECT_EQ(rows[1].kind, "add");
  EXPECT_EQ(rows[1].calls, 2);
  EXPECT_EQ(rows[1].time_s, 3);
  EXPECT_EQ(rows[1].longest_rank_s, 4);
  EXPECT_EQ(rows[1].of_layer_share, 0.5);
  EXPECT_EQ(rows[2].op, "other");
  EXPECT_EQ(rows[2].of_layer_share, 0.5);
}

}  // namespace
}  // namespace tuner::breakdown_test
