#include "db/timeline/timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/db/timeline/lanes.h"

namespace db::timeline_test {
namespace {

TEST(Timeline, LanesAreOrderedByRankThenStream) {
  const Timeline timeline = hand_timeline({{1, "compute", "linear", 0, 1},
                                           {0, "host", "host", 0, 1},
                                           {0, "weird", "w", 0, 1},
                                           {0, "inter_node", "all_to_all", 0, 1},
                                           {0, "compute", "linear", 0, 1}});
  std::vector<std::pair<int, std::string>> lanes;
  for (const Lane& lane : timeline.lanes) lanes.emplace_back(lane.rank, lane.stream);
  EXPECT_EQ(lanes,
            (std::vector<std::pair<int, std::string>>{
                {0, "compute"}, {0, "inter_node"}, {0, "host"}, {0, "weird"}, {1, "compute"}}));
}

TEST(Timeline, OverlappingSpansOfOneStreamGetRowsOfTheirOwn) {
  const Timeline timeline = hand_timeline({{0, "compute", "a", 0, 4},
                                           {0, "compute", "b", 1, 2},
                                           {0, "compute", "c", 2, 3},
                                           {0, "compute", "d", 4, 5}});
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[0].spans.size(), 2U);  // a, d
  EXPECT_EQ(timeline.lanes[1].spans.size(), 2U);  // b, c
  EXPECT_EQ(timeline.lanes[1].row, 1);
  EXPECT_EQ(timeline.lanes[0].busy_before_s, (std::vector<double>{0, 4, 5}));
}

TEST(Timeline, ExtentReachesFromFirstStartToLastEnd) {
  const Timeline timeline =
      hand_timeline({{0, "compute", "a", 3, 4}, {1, "copy", "b", 2, 9}, {1, "copy", "c", 9, 9.5}});
  EXPECT_EQ(timeline.extent, (TimeInterval{2, 9.5}));
  EXPECT_EQ(timeline.spans, 3U);
}

TEST(Timeline, ExtentIsTheWholeIterationWhereItsDurationIsKnown) {
  TimelineInfo info;
  info.duration_s = 10;
  EXPECT_EQ(build_timeline(info, {}, {{1, 0, 0, 1, 8, 0, 0}}).extent, (TimeInterval{0, 10}));
  info.duration_s = 5;
  EXPECT_EQ(build_timeline(info, {}, {{1, 0, 0, 1, 8, 0, 0}}).extent, (TimeInterval{1, 9}))
      << "spans that reach beyond it are shown all the same";
}

TEST(Timeline, AnOpWithoutARowIsNamedByItsNumber) {
  const Timeline timeline = build_timeline({}, {}, {{1, 0, 17, 0, 1, 0, 0}});
  ASSERT_EQ(timeline.ops.size(), 1U);
  EXPECT_EQ(timeline.ops[0].name, "op 17");
}

TEST(Timeline, SpansThatHaveNoTimeAreLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Timeline timeline =
      build_timeline({}, {}, {{1, 0, 0, nan, 1, 0, 0}, {1, 0, 0, 0, -1, 0, 0}});
  EXPECT_EQ(timeline.spans, 0U);
  EXPECT_TRUE(timeline.lanes.empty());
}

TEST(Timeline, BinarySearchFindsWhatALinearOneFinds) {
  std::mt19937 random(3);
  std::vector<HandSpan> spans;
  double free_s = 0;
  for (int i = 0; i < 500; ++i) {  // several blocks of a lane
    const double start_s = free_s + static_cast<double>(random() % 3);
    free_s = start_s + static_cast<double>(random() % 4);
    spans.push_back({0, "compute", "op", start_s, free_s});
  }
  const Timeline timeline = hand_timeline(spans);
  std::uniform_real_distribution<double> time(-1, free_s + 1);
  for (int i = 0; i < 2000; ++i) {
    const double at = time(random);
    for (const Lane& lane : timeline.lanes) {
      std::size_t ending = 0, starting = 0;
      while (ending < lane.spans.size() && lane.spans[ending].end_s <= at) ++ending;
      while (starting < lane.spans.size() && lane.spans[starting].start_s < at) ++starting;
      ASSERT_EQ(first_ending_after(lane, at), ending);
      ASSERT_EQ(first_starting_at(lane, at), starting);
    }
  }
}

TEST(Timeline, SpanAtTakesTheNearestWithinReach) {
  const Timeline timeline = hand_timeline({{0, "compute", "a", 1, 2}, {0, "compute", "b", 3, 4}});
  const Lane& lane = timeline.lanes[0];
  EXPECT_EQ(span_at(lane, 1.5, 0), 0U);
  EXPECT_EQ(span_at(lane, 2.3, 0.5), 0U);
  EXPECT_EQ(span_at(lane, 2.8, 0.5), 1U);
  EXPECT_EQ(span_at(lane, 2.5, 0.1), std::nullopt);
  EXPECT_EQ(span_at(lane, 9, 0.1), std::nullopt);
}

}  // namespace
}  // namespace db::timeline_test
