#include "db/timeline/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::difference_test {
namespace {

TEST(Difference, EveryMomentBelongsToOnePart) {
  // compute 0-4, communication 2-6, nothing 6-7, communication 7-8
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 4},
                                           {0, "inter_node", "all_to_all", 2, 6},
                                           {0, "inter_node", "all_reduce", 7, 8}});
  std::map<std::string, double> seconds;
  for (const TimePart& part : time_parts(timeline)) seconds[part.name] = part.seconds;
  EXPECT_EQ(
      seconds,
      (std::map<std::string, double>{
          {"linear", 4}, {"all to all, exposed", 2}, {"all reduce, exposed", 1}, {"idle", 1}}));
}

// What runs on a rank in a tick, found by looking at all of its spans.
std::string part_at(const Timeline& timeline, int rank, double middle_s) {
  for (const char* stream : {"compute", "inter_node"}) {
    for (const Lane& lane : timeline.lanes) {
      if (lane.rank != rank || lane.stream != stream) continue;
      for (const LaneSpan& span : lane.spans) {
        if (!(span.start_s < middle_s && middle_s < span.end_s)) continue;
        std::string kind = timeline.ops[static_cast<std::size_t>(span.op)].kind;
        std::replace(kind.begin(), kind.end(), '_', ' ');
        return lane.stream == "compute" ? kind : kind + ", exposed";
      }
    }
  }
  return "idle";
}

TEST(Difference, PartsAreThoseCountedTickByTick) {
  constexpr double kTick_s = 1.0 / 1024;
  const Timeline timeline = random_timeline(6);
  std::map<std::string, double> counted;
  for (int rank = 0; rank < 4; ++rank) {
    for (double at_s = timeline.extent.begin_s + kTick_s / 2; at_s < timeline.extent.end_s;
         at_s += kTick_s) {
      counted[part_at(timeline, rank, at_s)] += kTick_s / 4;
    }
  }
  for (const TimePart& part : time_parts(timeline)) {
    EXPECT_NEAR(part.seconds, counted[part.name], 1e-12) << part.name;
    counted.erase(part.name);
  }
  EXPECT_TRUE(counted.empty());
}

TEST(Difference, PartsAddUpToTheDifferenceOfTheDurations) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Timeline first = random_timeline(seed), second = random_timeline(seed + 10, 2);
    const Differences found = differences(first, second);
    double sum_s = 0;
    for (const PartDifference& part : found.parts) sum_s += part.difference_s();
    EXPECT_NEAR(sum_s, second.extent.length_s() - first.extent.length_s(), 1e-12);
    EXPECT_DOUBLE_EQ(found.total_s, second.extent.length_s() - first.extent.length_s());
  }
}

TEST(Difference, OpsAreMatchedWithTheirChunksSummedAndSortedBySize) {
  Timeline whole = hand_timeline({{0, "compute", "linear", 0, 4}, {0, "compute", "gelu", 4, 5}});
  Timeline cut = hand_timeline(
      {{0, "compute", "linear", 0, 1}, {0, "compute", "linear", 1, 6}, {0, "compute", "add", 6, 7}},
      2);
  for (int chunk = 0; chunk < 2; ++chunk) {
    cut.ops[static_cast<std::size_t>(chunk)].chunk = chunk;
    cut.ops[static_cast<std::size_t>(chunk)].chunks = 2;
  }
  const Differences found = differences(whole, cut);
  ASSERT_EQ(found.ops.size(), 3U);
  EXPECT_EQ(found.ops[0].op.name, "linear");
  EXPECT_EQ(found.ops[0].first_s, 4);
  EXPECT_EQ(found.ops[0].second_s, 6);
  EXPECT_EQ(found.ops[0].in_second, (SpanPosition{0, 0}));
  for (const OpDifference& op : found.ops) {
    EXPECT_EQ(op.in_first.has_value(), op.op.name != "add") << op.op.name;
    EXPECT_EQ(op.in_second.has_value(), op.op.name != "gelu") << op.op.name;
  }
}

TEST(Difference, OfATimelineAndItselfIsNothing) {
  const Timeline timeline = random_timeline(7);
  const Differences found = differences(timeline, timeline);
  EXPECT_EQ(found.total_s, 0);
  for (const OpDifference& op : found.ops) EXPECT_EQ(op.difference_s(), 0);
  for (const PartDifference& part : found.parts) EXPECT_EQ(part.difference_s(), 0);
}

TEST(Difference, ComputationForEachFlopIsComparedOfWhatRanAlone) {
  const auto timeline_of = [](double linear_s) {
    // The second product has a communication beside it, which may slow it.
    Timeline timeline = hand_timeline({{0, "compute", "linear", 0, linear_s},
                                       {0, "compute", "linear", 10, 19},
                                       {0, "compute", "gelu", 20, 21},
                                       {0, "inter_node", "all_to_all", 11, 12}});
    for (Lane& lane : timeline.lanes) {
      for (LaneSpan& span : lane.spans) span.flops = lane.stream == "compute" ? 1e9 : 0;
    }
    return timeline;
  };
  // 3 s + 1 s against 2 s + 1 s
  const Differences found = differences(timeline_of(3), timeline_of(2));
  EXPECT_DOUBLE_EQ(found.compute_ratio.value(), 4.0 / 3);
  EXPECT_EQ(pace_text(found),
            "The first computed 1.33 times as slowly for each FLOP: not all of the difference is "
            "of the schedules.");
  EXPECT_EQ(pace_text(differences(timeline_of(2), timeline_of(3))).substr(0, 19),
            "The second computed");
  EXPECT_EQ(pace_text(differences(timeline_of(2), timeline_of(2.1))), "");
  EXPECT_FALSE(
      differences(timeline_of(2), hand_timeline({{0, "compute", "other", 0, 1}})).compute_ratio);
}

}  // namespace
}  // namespace db::difference_test
