#include "db/timeline/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace db::timeline_statistics_test {
namespace {

using Intervals = std::vector<TimeInterval>;

TEST(TimelineStatistics, MergedIntervalsNeitherTouchNorOverlap) {
  EXPECT_EQ(merged({{3, 4}, {0, 1}, {1, 2}, {3.5, 3.6}, {5, 5}, {7, 6}}),
            (Intervals{{0, 2}, {3, 4}}));
  EXPECT_EQ(merged({}), Intervals{});
}

TEST(TimelineStatistics, LengthsOfMergedIntervals) {
  const Intervals a{{0, 2}, {3, 4}}, b{{1, 3.5}};
  EXPECT_DOUBLE_EQ(total_length_s(a), 3);
  EXPECT_EQ(common_intervals(a, b), (Intervals{{1, 2}, {3, 3.5}}));
  EXPECT_DOUBLE_EQ(common_length_s(a, b), 1.5);
  EXPECT_DOUBLE_EQ(common_length_s(b, a), 1.5);
  EXPECT_DOUBLE_EQ(common_length_s(a, {}), 0);
}

TEST(TimelineStatistics, AnIntervalIsCoveredByThePartsOfOthersInsideIt) {
  const Intervals others{{0, 2}, {3, 4}, {6, 9}};
  EXPECT_DOUBLE_EQ(covered_length_s({1, 7}, others), 1 + 1 + 1);
  EXPECT_DOUBLE_EQ(covered_length_s({2, 3}, others), 0);
  EXPECT_DOUBLE_EQ(covered_length_s({6.5, 7}, others), 0.5);
  EXPECT_DOUBLE_EQ(covered_length_s({9, 12}, others), 0);
}

// computation   0---4   6---8          6 s
// communication   2-----6              4 s, of it 4-6 exposed
// copy            3-5                  2 s
// nothing ran 8-10
TEST(TimelineStatistics, FiguresOfARankWorkedByHand) {
  const ActivityIntervals intervals{{{6, 8}, {0, 4}}, {{2, 6}}, {{3, 5}}, {}, {}};
  const RankStatistics rank = rank_statistics(3, intervals, {0, 10});
  EXPECT_EQ(rank.rank, 3);
  EXPECT_DOUBLE_EQ(rank.computation_s, 6);
  EXPECT_DOUBLE_EQ(rank.communication_s, 4);
  EXPECT_DOUBLE_EQ(rank.exposed_s, 2);
  EXPECT_DOUBLE_EQ(rank.covered_s(), 2);
  EXPECT_DOUBLE_EQ(rank.copy_s, 2);
  EXPECT_DOUBLE_EQ(rank.host_s, 0);
  EXPECT_DOUBLE_EQ(rank.idle_s, 2);
}

TEST(TimelineStatistics, ARangeCountsOnlyWhatIsInside) {
  const ActivityIntervals intervals{{{6, 8}, {0, 4}}, {{2, 6}}, {{3, 5}}, {}, {}};
  const RankStatistics rank = rank_statistics(0, intervals, {3, 7});
  EXPECT_DOUBLE_EQ(rank.computation_s, 2);    // 3-4 and 6-7
  EXPECT_DOUBLE_EQ(rank.communication_s, 3);  // 3-6
  EXPECT_DOUBLE_EQ(rank.exposed_s, 2);        // 4-6
  EXPECT_DOUBLE_EQ(rank.idle_s, 0);
}

TEST(TimelineStatistics, CommunicationOnTwoStreamsAtOnceCountsOnce) {
  const RankStatistics rank = rank_statistics(0, {{{0, 3}}, {{1, 5}, {2, 4}}, {}, {}, {}}, {0, 5});
  EXPECT_DOUBLE_EQ(rank.communication_s, 4);
  EXPECT_DOUBLE_EQ(rank.exposed_s, 2);
}

TEST(TimelineStatistics, CopiesAndHostWorkHideNoCommunicationAndAreNotIdle) {
  const RankStatistics rank = rank_statistics(0, {{}, {{0, 2}}, {{0, 2}}, {{1, 3}}, {}}, {0, 4});
  EXPECT_DOUBLE_EQ(rank.exposed_s, 2);
  EXPECT_DOUBLE_EQ(rank.host_s, 2);
  EXPECT_DOUBLE_EQ(rank.idle_s, 1);
}

// computation   0-1       6-7
// a collective  1---5           waits until 4
// a boundary    2-------8       waits until 6
TEST(TimelineStatistics, ExposedTimeIsTransferOrElseWaitingOrElseABubble) {
  ActivityIntervals intervals;
  intervals.computation = {{0, 1}, {6, 7}};
  add_span(intervals, {Activity::communication, is_between_stages("expert")}, {1, 5}, 3);
  add_span(intervals, {Activity::communication, is_between_stages("odd_boundary")}, {2, 8}, 4);
  const RankStatistics rank = rank_statistics(0, intervals, {0, 9});
  EXPECT_DOUBLE_EQ(rank.communication_s, 7);
  EXPECT_DOUBLE_EQ(rank.exposed_s, 6);             // 1-6 and 7-8
  EXPECT_DOUBLE_EQ(rank.exposed_waiting_s, 3);     // 1-4, though a stage is waited for from 2 on
  EXPECT_DOUBLE_EQ(rank.exposed_bubble_s, 1);      // 5-6
  EXPECT_DOUBLE_EQ(rank.exposed_transfer_s(), 2);  // 4-5 and 7-8
  EXPECT_DOUBLE_EQ(rank.idle_s, 1);
}

TEST(TimelineStatistics, WaitingIsNeverLongerThanItsCommunication) {
  ActivityIntervals intervals;
  add_span(intervals, {Activity::communication}, {1, 3}, 5);
  add_span(intervals, {Activity::communication}, {4, 6}, -1);
  const RankStatistics rank = rank_statistics(0, intervals, {0, 9});
  EXPECT_DOUBLE_EQ(rank.exposed_waiting_s, 2);
  EXPECT_DOUBLE_EQ(rank.exposed_transfer_s(), 2);
}

TEST(TimelineStatistics, WhatNobodyKnowsIsNotIdle) {
  const RankStatistics rank = rank_statistics(0, {{{0, 1}}, {}, {}, {}, {{2, 3}}}, {0, 4});
  EXPECT_DOUBLE_EQ(rank.computation_s, 1);
  EXPECT_DOUBLE_EQ(rank.idle_s, 2);
}

TEST(TimelineStatistics, TheMeanIsOverRanks) {
  const std::vector<RankStatistics> ranks = {{0, 6, 4, 2, 1, 0, 2, 1, 0.5}, {1, 2, 0, 0, 1, 4, 6}};
  const RankStatistics of = mean(ranks);
  EXPECT_EQ(of.rank, -1);
  EXPECT_DOUBLE_EQ(of.computation_s, 4);
  EXPECT_DOUBLE_EQ(of.communication_s, 2);
  EXPECT_DOUBLE_EQ(of.exposed_s, 1);
  EXPECT_DOUBLE_EQ(of.exposed_waiting_s, 0.5);
  EXPECT_DOUBLE_EQ(of.exposed_bubble_s, 0.25);
  EXPECT_DOUBLE_EQ(of.copy_s, 1);
  EXPECT_DOUBLE_EQ(of.host_s, 2);
  EXPECT_DOUBLE_EQ(of.idle_s, 4);
  EXPECT_DOUBLE_EQ(mean({}).computation_s, 0);
}

}  // namespace
}  // namespace db::timeline_statistics_test
