#include "db/timeline/summary.h"

#include <gtest/gtest.h>

#include "tests/db/timeline/lanes.h"

namespace db::summary_test {
namespace {

// Rank 0:  compute    0---4   6---8          computation 6 s
//          inter_node   2-----6              communication 4 s, of it 4-6 exposed
//          nothing ran 8-10                  idle 2 s of 10
// Rank 1:  compute    0-1
//          inter_node     1---3              communication 2 s, all of it exposed, idle 7 s
Timeline by_hand() {
  return hand_timeline({{0, "compute", "linear", 0, 4},
                        {0, "compute", "expert_linear", 6, 8},
                        {0, "inter_node", "all_to_all", 2, 6},
                        {1, "compute", "linear", 0, 1},
                        {1, "inter_node", "all_to_all", 1, 3}});
}

TEST(Summary, FiguresOfATimelineWorkedByHand) {
  const Summary summary = summarize(by_hand(), {0, 10});
  ASSERT_EQ(summary.ranks.size(), 2U);
  const RankStatistics& zero = summary.ranks[0];
  EXPECT_DOUBLE_EQ(zero.computation_s, 6);
  EXPECT_DOUBLE_EQ(zero.communication_s, 4);
  EXPECT_DOUBLE_EQ(zero.exposed_s, 2);
  EXPECT_DOUBLE_EQ(covered_share(zero).value(), 0.5);
  EXPECT_DOUBLE_EQ(zero.idle_s, 2);
  EXPECT_EQ(summary.ranks[1].rank, 1);
  EXPECT_DOUBLE_EQ(covered_share(summary.ranks[1]).value(), 0);
  EXPECT_DOUBLE_EQ(summary.ranks[1].idle_s, 7);
  EXPECT_DOUBLE_EQ(covered_share(summary.mean).value(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(summary.mean.idle_s, 4.5);
}

TEST(Summary, SaysExposedTimeInItsPartsAndWhatIsOfAMarkedRange) {
  Timeline timeline = by_hand();
  EXPECT_EQ(exposed_text(summarize(timeline, {0, 10}), summarize(timeline, {0, 10}).mean),
            "exposed 20.0%")
      << "nothing tells who waits";
  timeline.first_rank["expert"] = {{0, 0}, {1, 0}};
  for (Lane& lane : timeline.lanes) {
    if (lane.stream == "inter_node" && lane.rank == 1) lane.spans.front().waiting_s = 1;
  }
  Summary summary = summarize(timeline, {0, 10});
  EXPECT_EQ(exposed_text(summary, summary.mean), "exposed 20.0% (15.0% transfer, 5.0% waiting)");
  EXPECT_EQ(exposed_text(summary, summary.ranks[0]), "exposed 20.0% (20.0% transfer)");
  EXPECT_EQ(summary_facts(summary, false)[1], "communication covered 33.3%");
  for (const std::string& fact : summary_facts(summary, true)) {
    EXPECT_EQ(fact.rfind("marked range: ", 0), 0U) << fact;
  }
}

TEST(Summary, ARangeCountsOnlyWhatIsInside) {
  const Summary summary = summarize(by_hand(), {3, 7});
  EXPECT_DOUBLE_EQ(summary.ranks[0].computation_s, 2);    // 3-4 and 6-7
  EXPECT_DOUBLE_EQ(summary.ranks[0].communication_s, 3);  // 3-6
  EXPECT_DOUBLE_EQ(summary.ranks[0].exposed_s, 2);        // 4-6
  EXPECT_DOUBLE_EQ(summary.ranks[0].idle_s, 0);
  EXPECT_DOUBLE_EQ(summary.ranks[1].idle_s, 4);
}

TEST(Summary, CommunicationOnTheComputeStreamIsNoComputation) {
  const Timeline sequential = hand_timeline(
      {{0, "compute", "linear", 0, 3}, {0, "compute", "all_to_all", 3, 5, "communication"}});
  const RankStatistics rank = summarize(sequential, {0, 5}).ranks[0];
  EXPECT_DOUBLE_EQ(rank.computation_s, 3);
  EXPECT_DOUBLE_EQ(rank.communication_s, 2);
  EXPECT_DOUBLE_EQ(rank.exposed_s, 2);
}

TEST(Summary, WithoutCommunicationNothingIsCovered) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 1}});
  EXPECT_EQ(covered_share(summarize(timeline, {0, 1}).mean), std::nullopt);
}

TEST(Summary, AnEmptyTimelineHasFiguresOfZero) {
  const Summary summary = summarize(Timeline{}, {0, 0});
  EXPECT_TRUE(summary.ranks.empty());
  EXPECT_DOUBLE_EQ(summary.mean.idle_s, 0);
}

}  // namespace
}  // namespace db::summary_test
