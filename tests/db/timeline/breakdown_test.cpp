#include "db/timeline/breakdown.h"

#include <gtest/gtest.h>

#include "tests/db/timeline/lanes.h"

namespace db::breakdown_test {
namespace {

/// Two ops of a name in one layer, and one of another; on two ranks.
Timeline two_ranks() {
  std::vector<TimelineOp> ops;
  const auto add = [&](const char* name, int layer) {
    ops.push_back(
        {0, static_cast<int>(ops.size()), name, "add", "computation", "compute", "forward", layer});
  };
  add("one", 1);
  add("other", 1);
  add("one", 1);
  add("never", 1);
  add("end", -1);
  return build_timeline({}, ops,
                        {{0, 0, 0, 0, 1, 0, 0},
                         {0, 0, 1, 1, 3, 0, 0},
                         {0, 0, 2, 4, 1, 0, 0},
                         {0, 0, 4, 5, 2, 0, 0},
                         {0, 1, 0, 0, 3, 0, 0},
                         {0, 1, 1, 3, 3, 0, 0},
                         {0, 1, 2, 6, 1, 0, 0}});
}

TEST(Breakdown, AddsUpCallsOfARankAndTakesTheMeanOfRanks) {
  const std::vector<BreakdownRow> rows = breakdown(two_ranks());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].sample.name, "end");
  EXPECT_EQ(rows[0].time_s, 1);
  EXPECT_EQ(rows[0].longest_rank_s, 2);
  EXPECT_EQ(rows[1].sample.name, "one");
  EXPECT_EQ(rows[1].sample.kind, "add");
  EXPECT_EQ(rows[1].calls, 2);
  EXPECT_EQ(rows[1].time_s, 3);
  EXPECT_EQ(rows[1].longest_rank_s, 4);
  EXPECT_EQ(rows[1].of_layer_share, 0.5);
  EXPECT_EQ(rows[2].sample.name, "other");
  EXPECT_EQ(rows[2].of_layer_share, 0.5);
}

TEST(Breakdown, ARankThatStandsForOthersCountsAsOftenAsTheyAre) {
  Timeline timeline = two_ranks();
  timeline.like = {0, 0, 1, 0};
  const std::vector<BreakdownRow> rows = breakdown(timeline);
  EXPECT_EQ(rows[0].time_s, 3 * 2.0 / 4);
  EXPECT_EQ(rows[1].time_s, (3 * 2.0 + 4) / 4);
  EXPECT_EQ(rows[1].longest_rank_s, 4);
}

}  // namespace
}  // namespace db::breakdown_test
