#include "viewer/model/exposure.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"

namespace viewer::exposure_test {
namespace {

// Two ranks that exchange at different times: rank 1 computes for longer and comes last.
Timeline exchange() {
  db::Timeline info;
  info.id = 1;
  info.kind = "measured";
  const auto op = [](int index, const char* name, const char* activity) {
    db::TimelineOp row;
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
                         {1, 0, 1, 1, 4, 100, 0},
                         {1, 0, 2, 5, 1, 0, 0},
                         {1, 1, 0, 0, 3, 0, 0},
                         {1, 1, 1, 3, 2, 100, 0},
                         {1, 1, 2, 4.5, 1.5, 0, 0}});
}

TEST(Exposure, IsTheMeanOverRanksOfWhatRunsWhileNothingIsComputed) {
  const std::vector<ExposedOp> ops = exposed_ops(exchange(), false);
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].name, "dispatch");
  EXPECT_EQ(ops[0].layer, 1);
  EXPECT_DOUBLE_EQ(ops[0].duration_s, (4.0 + 2.0) / 2);
  EXPECT_DOUBLE_EQ(ops[0].exposed_s, (4.0 + 1.5) / 2);
  EXPECT_EQ(ops[0].next, "experts");
}

TEST(Exposure, PartsWaitingForTheLastRankFromTheTransfer) {
  const std::vector<ExposedOp> ops = exposed_ops(exchange(), true);
  ASSERT_TRUE(ops[0].waiting_s);
  EXPECT_DOUBLE_EQ(*ops[0].waiting_s, (2.0 + 0.0) / 2);
  ASSERT_TRUE(ops[0].late);
  EXPECT_EQ(ops[0].late->rank, 1);
  EXPECT_EQ(ops[0].late->ran, "gate");
}

TEST(Exposure, SaysNothingOfWaitingWhereTheGroupsAreNotKnown) {
  const std::vector<ExposedOp> ops = exposed_ops(exchange(), false);
  EXPECT_FALSE(ops[0].waiting_s);
  EXPECT_FALSE(ops[0].late);
}

TEST(Exposure, WaitsForTheLastRankOfAGroupWhereTheGroupsAreStored) {
  Timeline timeline = exchange();
  timeline.ops[1].group_kind = "expert";
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  ASSERT_TRUE(exposed_ops(timeline, false)[0].waiting_s);
  EXPECT_DOUBLE_EQ(*exposed_ops(timeline, false)[0].waiting_s, (2.0 + 0.0) / 2);
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, 1}});
  EXPECT_FALSE(exposed_ops(timeline, true)[0].waiting_s);
}

TEST(Exposure, ComesMostExposedFirst) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 4, "computation"},
                                           {0, "inter_node", "covered", 1, 3.5, "communication"},
                                           {0, "inter_node", "bare", 4, 5, "communication"}});
  const std::vector<ExposedOp> ops = exposed_ops(timeline, true);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].name, "bare");
  EXPECT_DOUBLE_EQ(ops[1].exposed_s, 0);
  EXPECT_EQ(ops[0].next, "");
}

}  // namespace
}  // namespace viewer::exposure_test
