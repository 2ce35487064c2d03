#include "db/timeline/exposure.h"

#include <gtest/gtest.h>

#include "tests/db/timeline/lanes.h"

namespace db::exposure_test {
namespace {

// Two ranks that exchange at different times: rank 1 computes for longer and comes last. Rank 0
// takes part for `first_s`.
Timeline exchange(double first_s = 4) {
  TimelineInfo info;
  info.id = 1;
  info.kind = "measured";
  const auto op = [](int index, const char* name, const char* activity) {
    TimelineOp row;
    row.op = index;
    row.name = row.kind = name;
    row.activity = activity;
    row.stream = row.activity == "communication" ? "inter_node" : "compute";
    row.phase = "forward";
    row.layer = 1;
    return row;
  };
  return build_timeline(info,
                        {op(0, "gate", "computation"), op(1, "dispatch", "communication"),
                         op(2, "experts", "computation")},
                        {{1, 0, 0, 0, 1, 0, 0},
                         {1, 0, 1, 1, first_s, 100, 0},
                         {1, 0, 2, 5, 1, 0, 0},
                         {1, 1, 0, 0, 3, 0, 0},
                         {1, 1, 1, 3, 2, 100, 0},
                         {1, 1, 2, 4.5, 1.5, 0, 0}});
}

std::vector<ExposedOp> exposed_of(const Timeline& timeline, bool all_together) {
  return exposed_ops(timeline, index_spans(timeline), all_together);
}

TEST(Exposure, IsTheMeanOverRanksOfWhatRunsWhileNothingIsComputed) {
  const std::vector<ExposedOp> ops = exposed_of(exchange(), false);
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].sample.name, "dispatch");
  EXPECT_EQ(ops[0].sample.layer, 1);
  EXPECT_DOUBLE_EQ(ops[0].duration_s, (4.0 + 2.0) / 2);
  EXPECT_DOUBLE_EQ(ops[0].exposed_s, (4.0 + 1.5) / 2);
  EXPECT_EQ(ops[0].next, "experts");
}

TEST(Exposure, PartsWaitingForTheLastRankFromTheTransfer) {
  const std::vector<ExposedOp> ops = exposed_of(exchange(), true);
  ASSERT_TRUE(ops[0].waiting_s);
  EXPECT_DOUBLE_EQ(*ops[0].waiting_s, (2.0 + 0.0) / 2);
  ASSERT_TRUE(ops[0].late);
  EXPECT_EQ(ops[0].late->rank, 1);
  EXPECT_EQ(ops[0].late->ran, "gate");
}

TEST(Exposure, SaysNothingOfWaitingWhereTheGroupsAreNotKnown) {
  const std::vector<ExposedOp> ops = exposed_of(exchange(), false);
  EXPECT_FALSE(ops[0].waiting_s);
  EXPECT_FALSE(ops[0].late);
}

TEST(Exposure, WaitsForTheLastRankOfAGroupWhereTheGroupsAreStored) {
  Timeline timeline = exchange();
  timeline.ops[1].group_kind = "expert";
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  ASSERT_TRUE(exposed_of(timeline, false)[0].waiting_s);
  EXPECT_DOUBLE_EQ(*exposed_of(timeline, false)[0].waiting_s, (2.0 + 0.0) / 2);
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, 1}});
  EXPECT_FALSE(exposed_of(timeline, true)[0].waiting_s);
}

TEST(Exposure, CountsTheWaitingOfARankThatEndsBeforeTheLastBegins) {
  Timeline timeline = exchange(1.5);
  timeline.ops[1].group_kind = "expert";
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  EXPECT_EQ(exposed_of(timeline, false)[0].waiting_s, 1.5 / 2);
}

TEST(Exposure, ComesMostExposedFirst) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 4, "computation"},
                                           {0, "inter_node", "covered", 1, 3.5, "communication"},
                                           {0, "inter_node", "bare", 4, 5, "communication"}});
  const std::vector<ExposedOp> ops = exposed_of(timeline, true);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].sample.name, "bare");
  EXPECT_DOUBLE_EQ(ops[1].exposed_s, 0);
  EXPECT_EQ(ops[0].next, "");
}

}  // namespace
}  // namespace db::exposure_test
