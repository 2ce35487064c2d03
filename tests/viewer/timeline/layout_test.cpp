#include "viewer/timeline/layout.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"

namespace viewer::layout_test {
namespace {

Timeline two_ranks(double length_s) {
  return hand_timeline({{0, "compute", "linear", 0, length_s},
                        {0, "copy", "copy", 0, 1},
                        {1, "compute", "linear", 0, length_s}});
}

TEST(TimelineLayout, LanesFillTheHeightWithoutOverlap) {
  const Timeline a = two_ranks(2), b = two_ranks(3);
  const std::vector<StackEntry> stack = {{&a, "a", "", ""}, {&b, "b", "", ""}};
  const StackLayout layout = lay_out(stack, 200, {});
  ASSERT_EQ(layout.lanes.size(), 6U);
  ASSERT_EQ(layout.headers.size(), 2U);
  EXPECT_LE(layout.height, 200);
  EXPECT_GT(layout.height, 170);
  for (std::size_t i = 1; i < layout.lanes.size(); ++i) {
    EXPECT_GE(layout.lanes[i].y, layout.lanes[i - 1].y + layout.lanes[i - 1].height);
  }
  EXPECT_LT(layout.lanes[1].height, layout.lanes[0].height) << "copy lanes are lower";
  EXPECT_TRUE(layout.lanes[2].first_of_rank);
  EXPECT_FALSE(layout.lanes[1].first_of_rank);
}

TEST(TimelineLayout, AStripOfMemoryStandsAboveTheLanesOfItsTimeline) {
  const Timeline a = two_ranks(2), b = two_ranks(3);
  const MemoryTable memory;
  std::vector<StackEntry> stack = {{&a, "a", "", ""}, {&b, "b", "", ""}};
  const LayoutSizes sizes;
  const StackLayout without = lay_out(stack, 500, sizes);
  EXPECT_TRUE(without.strips.empty());
  stack[0].memory = &memory;
  const StackLayout layout = lay_out(stack, 500, sizes);
  ASSERT_EQ(layout.strips.size(), 1U);
  const PlacedStrip& strip = layout.strips[0];
  EXPECT_EQ(strip.stack, 0U);
  EXPECT_GE(strip.y, layout.headers[0].y + layout.headers[0].height);
  EXPECT_LE(strip.y + strip.height, layout.lanes[0].y);
  EXPECT_LE(layout.height, 500);
  EXPECT_EQ(layout.strip_at(strip.y + 1), &strip);
  EXPECT_EQ(layout.strip_at(strip.y + strip.height), nullptr);
  EXPECT_EQ(layout.lane_at(strip.y + 1), nullptr);
}

TEST(TimelineLayout, ManyLanesStayLegibleAndScroll) {
  std::vector<HandSpan> spans;
  for (int rank = 0; rank < 64; ++rank) spans.push_back({rank, "compute", "linear", 0, 1});
  const Timeline timeline = hand_timeline(spans);
  const std::vector<StackEntry> stack = {{&timeline, "many", "", ""}};
  const LayoutSizes sizes;
  const StackLayout layout = lay_out(stack, 300, sizes);
  EXPECT_GT(layout.height, 300);
  EXPECT_FLOAT_EQ(layout.lanes[0].height, sizes.shortest_lane);
}

TEST(TimelineLayout, MinorLanesKeepRoomForTheirLabelsAndTheOthersTheRest) {
  std::vector<HandSpan> spans;
  for (int rank = 0; rank < 8; ++rank) {
    for (const char* stream : {"compute", "copy", "host"}) {
      spans.push_back({rank, stream, "kind", 0, 1});
    }
  }
  const Timeline timeline = hand_timeline(spans);
  const std::vector<StackEntry> stack = {{&timeline, "one", "", ""}};
  const LayoutSizes sizes;
  const StackLayout layout = lay_out(stack, 400, sizes);
  EXPECT_FLOAT_EQ(layout.lanes[1].height, sizes.shortest_minor);
  EXPECT_GE(layout.lanes[0].height, sizes.shortest_lane);
  EXPECT_LE(layout.height, 400);
}

TEST(TimelineLayout, BandsOfNodesShareTheHeightAndHiddenLanesHaveNoPlace) {
  std::vector<HandSpan> spans;
  for (int rank = 0; rank < 16; ++rank) spans.push_back({rank, "compute", "linear", 0, 1});
  const Timeline timeline = hand_timeline(spans);
  RankChoice choice;
  choice.by_node = true;
  RankRows rows = rank_rows(timeline, {}, choice, {});
  std::vector<StackEntry> stack = {{&timeline, "wide", "", ""}};
  stack[0].rows = &rows;
  const LayoutSizes sizes;
  const StackLayout closed = lay_out(stack, 200, sizes);
  ASSERT_EQ(closed.bands.size(), 2U);
  EXPECT_TRUE(closed.lanes.empty());
  EXPECT_EQ(closed.band_at(closed.bands[1].y + 1), &closed.bands[1]);
  EXPECT_FLOAT_EQ(closed.bands[1].y + closed.bands[1].height, closed.height);
  EXPECT_GT(closed.bands[0].height, sizes.band);
  choice.opened = {1};
  rows = rank_rows(timeline, {}, choice, {});
  const StackLayout open = lay_out(stack, 400, sizes);
  EXPECT_EQ(open.lanes.size(), 8U);
  EXPECT_GE(open.places[0][0], open.lanes.size()) << "of rank 0, which is hidden";
  EXPECT_EQ(open.lanes[open.places[0][8]].lane, 8U);
  EXPECT_GT(open.lanes[0].y, open.bands[1].y);
}

TEST(TimelineLayout, LaneAtFindsWhatIsThere) {
  const Timeline timeline = two_ranks(1);
  const std::vector<StackEntry> stack = {{&timeline, "a", "", ""}};
  const StackLayout layout = lay_out(stack, 150, {});
  for (const PlacedLane& lane : layout.lanes) {
    EXPECT_EQ(layout.lane_at(lane.y), &lane);
    EXPECT_EQ(layout.lane_at(lane.y + lane.height - 0.5F), &lane);
  }
  EXPECT_EQ(layout.lane_at(1), nullptr) << "the header";
  EXPECT_EQ(layout.lane_at(layout.height + 1), nullptr);
}

TEST(TimelineLayout, AnOwnAxisStretchesToTheLongest) {
  const Timeline a = two_ranks(2), b = two_ranks(4);
  const std::vector<StackEntry> stack = {{&a, "a", "", ""}, {&b, "b", "", ""}};
  const TimeRange extent = stack_extent(stack);
  EXPECT_EQ(extent, (TimeRange{0, 4}));
  EXPECT_DOUBLE_EQ(axis_map(a, true, extent).to_axis(1.0), 2);
  EXPECT_DOUBLE_EQ(axis_map(a, false, extent).to_axis(1.0), 1);
  EXPECT_DOUBLE_EQ(axis_map(a, true, extent).to_time(2.0), 1);
}

TEST(TimelineLayout, TheAxisBeginsAtTheFirstSpan) {
  const Timeline late = hand_timeline({{0, "compute", "linear", 5, 6}});
  EXPECT_DOUBLE_EQ(axis_map(late, false, {0, 1}).to_axis(5.5), 0.5);
}

}  // namespace
}  // namespace viewer::layout_test
