#include "viewer/model/summary.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"

namespace viewer {
namespace {

TEST(Overlap, MergedIntervalsNeitherTouchNorOverlap) {
  EXPECT_EQ(merged({{3, 4}, {0, 1}, {1, 2}, {3.5, 3.6}, {5, 5}}), (Intervals{{0, 2}, {3, 4}}));
  EXPECT_DOUBLE_EQ(total_length_s({{0, 2}, {3, 4}}), 3);
  EXPECT_DOUBLE_EQ(common_length_s({{0, 2}, {3, 4}}, {{1, 3.5}}), 1.5);
}

// Rank 0:  compute    0---4   6---8          computation 6 s
//          inter_node   2-----6              communication 4 s, of it 2-4 covered: 2 s
//          nothing ran 8-10                  idle 2 s of 10
// Rank 1:  compute    0-1
//          inter_node     1---3              communication 2 s, nothing covered, idle 7 s
Timeline by_hand() {
  return hand_timeline({{0, "compute", "linear", 0, 4},
                        {0, "compute", "expert_linear", 6, 8},
                        {0, "inter_node", "all_to_all", 2, 6},
                        {1, "compute", "linear", 0, 1},
                        {1, "inter_node", "all_to_all", 1, 3}});
}

TEST(Overlap, FiguresOfATimelineWorkedByHand) {
  const Summary summary = summarize(by_hand(), {0, 10});
  ASSERT_EQ(summary.ranks.size(), 2U);
  const RankSummary& zero = summary.ranks[0];
  EXPECT_DOUBLE_EQ(zero.computation_s, 6);
  EXPECT_DOUBLE_EQ(zero.communication_s, 4);
  EXPECT_DOUBLE_EQ(zero.covered_s, 2);
  EXPECT_DOUBLE_EQ(zero.overlap(), 0.5);
  EXPECT_DOUBLE_EQ(zero.idle_s, 2);
  EXPECT_DOUBLE_EQ(zero.streams[0].busy_s, 6);
  EXPECT_DOUBLE_EQ(zero.streams[1].busy_s, 4);
  EXPECT_DOUBLE_EQ(summary.ranks[1].overlap(), 0);
  EXPECT_DOUBLE_EQ(summary.ranks[1].idle_s, 7);
  EXPECT_DOUBLE_EQ(summary.mean_overlap(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(summary.mean_idle(), 0.45);
}

TEST(Overlap, ARangeCountsOnlyWhatIsInside) {
  const Summary summary = summarize(by_hand(), {3, 7});
  const RankSummary& zero = summary.ranks[0];
  EXPECT_DOUBLE_EQ(zero.computation_s, 2);    // 3-4 and 6-7
  EXPECT_DOUBLE_EQ(zero.communication_s, 3);  // 3-6
  EXPECT_DOUBLE_EQ(zero.covered_s, 1);        // 3-4
  EXPECT_DOUBLE_EQ(zero.idle_s, 0);
  EXPECT_DOUBLE_EQ(summary.ranks[1].idle_s, 4);
}

TEST(Overlap, TwoCommunicationStreamsAtOnceCountOnce) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 3},
                                           {0, "inter_node", "all_to_all", 1, 5},
                                           {0, "intra_node", "all_to_all", 2, 4}});
  const RankSummary rank = summarize(timeline, {0, 5}).ranks[0];
  EXPECT_DOUBLE_EQ(rank.communication_s, 4);
  EXPECT_DOUBLE_EQ(rank.covered_s, 2);
}

TEST(Overlap, CopiesAndHostWorkAreNeither) {
  const Timeline timeline = hand_timeline({{0, "copy", "copy", 0, 2}, {0, "host", "host", 0, 3}});
  const RankSummary rank = summarize(timeline, {0, 4}).ranks[0];
  EXPECT_DOUBLE_EQ(rank.computation_s, 0);
  EXPECT_DOUBLE_EQ(rank.communication_s, 0);
  EXPECT_DOUBLE_EQ(rank.overlap(), 0);
  EXPECT_DOUBLE_EQ(rank.idle_s, 1);
}

TEST(Overlap, EveryRankListsEveryStream) {
  const Timeline timeline =
      hand_timeline({{0, "compute", "linear", 0, 1}, {1, "copy", "copy", 0, 1}});
  for (const RankSummary& rank : summarize(timeline, {0, 1}).ranks) {
    ASSERT_EQ(rank.streams.size(), 2U);
    EXPECT_EQ(rank.streams[0].stream, "compute");
    EXPECT_EQ(rank.streams[1].stream, "copy");
  }
}

TEST(Overlap, AnEmptyTimelineHasFiguresOfZero) {
  const Summary summary = summarize(Timeline{}, {0, 0});
  EXPECT_DOUBLE_EQ(summary.mean_overlap(), 0);
  EXPECT_DOUBLE_EQ(summary.mean_idle(), 0);
}

TEST(Overlap, TimeByKindIsSortedByTime) {
  const std::vector<KindTime> times = time_by_kind(by_hand(), {0, 10});
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].kind, "all_to_all");
  EXPECT_DOUBLE_EQ(times[0].total_s, 6);
  EXPECT_EQ(times[1].kind, "linear");
  EXPECT_EQ(times[1].spans, 2U);
}

}  // namespace
}  // namespace viewer
