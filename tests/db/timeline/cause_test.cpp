#include "db/timeline/cause.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "db/timeline/critical_path.h"
#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::cause_test {
namespace {

TimelineOp op(int number, const char* name, const char* stream) {
  TimelineOp row;
  row.op = number;
  row.name = row.kind = name;
  row.stream = stream;
  row.activity = row.stream == "compute" ? "computation" : "communication";
  return row;
}

TimelineOp collective(int number, const char* name) {
  TimelineOp row = op(number, name, "inter_node");
  row.group_kind = "expert";
  return row;
}

// Rank 0:  compute  gate 0-1             experts 5-7
//          network       dispatch 1-5
// Rank 1:  compute  gate 0-3             experts 5.5-6
//          network         dispatch 3-5
Timeline two_ranks() {
  TimelineInfo info;
  info.duration_s = 7;
  Timeline timeline = build_timeline(
      info,
      {op(0, "gate", "compute"), collective(1, "all_to_all"), op(2, "expert_linear", "compute")},
      {{1, 0, 0, 0, 1, 0, 0},
       {1, 0, 1, 1, 4, 0, 0},
       {1, 0, 2, 5, 2, 0, 0},
       {1, 1, 0, 0, 3, 0, 0},
       {1, 1, 1, 3, 2, 0, 0},
       {1, 1, 2, 5.5, 0.5, 0, 0}});
  link_ops(timeline, {{1, 1, 0}, {1, 2, 1}}, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  return timeline;
}

constexpr SpanPosition kExperts{0, 1}, kDispatch{1, 0}, kLateDispatch{3, 0};

TEST(Cause, TheLastToHappenComesFirst) {
  const Timeline timeline = two_ranks();
  const auto causes = causes_of(timeline, index_spans(timeline), kExperts);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].at, kDispatch);
  EXPECT_EQ(causes[0].reason, Reason::data);
  EXPECT_EQ(causes[0].at_s, 5);
  EXPECT_EQ(causes[1].at, (SpanPosition{0, 0}));
  EXPECT_EQ(causes[1].reason, Reason::stream);
}

TEST(Cause, ACommunicationWaitsForTheLastRank) {
  const Timeline timeline = two_ranks();
  const auto causes = causes_of(timeline, index_spans(timeline), kDispatch);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].at, kLateDispatch);
  EXPECT_EQ(causes[0].reason, Reason::rendezvous);
  EXPECT_EQ(causes[0].at_s, 3);
  EXPECT_EQ(causes[1].reason, Reason::data);
}

TEST(Cause, TheCriticalPathGoesThroughTheRankThatCameLast) {
  const Timeline timeline = two_ranks();
  const auto path = critical_path(timeline, index_spans(timeline));
  ASSERT_EQ(path.size(), 3U);
  EXPECT_EQ(path[0].at, (SpanPosition{2, 0})) << "the gate of rank 1";
  EXPECT_EQ(path[1].at, kLateDispatch);
  EXPECT_EQ(path[1].seconds, 2);
  EXPECT_EQ(path[2].at, kExperts);
  EXPECT_EQ(path[2].gap_s, 0);
}

TEST(Cause, ThePathIsOfTheLengthOfTheTimeline) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    const Timeline timeline = random_timeline(seed);
    const auto path = critical_path(timeline, index_spans(timeline));
    ASSERT_FALSE(path.empty());
    double sum_s = 0, last_s = 0, start_s = -1;
    for (const PathStep& step : path) {
      sum_s += step.seconds + step.gap_s;
      EXPECT_GT(span_at(timeline, step.at).start_s, start_s);
      start_s = span_at(timeline, step.at).start_s;
    }
    for (const Lane& lane : timeline.lanes) last_s = std::max(last_s, lane.spans.back().end_s);
    EXPECT_NEAR(sum_s, last_s - timeline.extent.begin_s, 1e-12);
    double parts_s = 0;
    for (const PathPart& part : path_parts(timeline, path)) parts_s += part.seconds;
    EXPECT_NEAR(parts_s, sum_s, 1e-12);
  }
}

// Rank 0:  compute  a 0-0.5, b 0.5-0.8, c 0.8-1
//          network          dispatch 1-8
// Rank 1:  compute  a 0-2, b 2-5, c 5-6
//          network          send 0.5-5, dispatch 6-8
Timeline held_up(std::vector<OpEdge> edges) {
  Timeline timeline =
      build_timeline({},
                     {op(0, "a", "compute"), op(1, "b", "compute"), op(2, "c", "compute"),
                      collective(3, "dispatch"), op(4, "send", "inter_node")},
                     {{1, 0, 0, 0, 0.5, 0, 0},
                      {1, 0, 1, 0.5, 0.3, 0, 0},
                      {1, 0, 2, 0.8, 0.2, 0, 0},
                      {1, 0, 3, 1, 7, 0, 0},
                      {1, 1, 0, 0, 2, 0, 0},
                      {1, 1, 1, 2, 3, 0, 0},
                      {1, 1, 2, 5, 1, 0, 0},
                      {1, 1, 4, 0.5, 4.5, 0, 0},
                      {1, 1, 3, 6, 2, 0, 0}});
  link_ops(timeline, edges, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  return timeline;
}

constexpr SpanPosition kWaiting{1, 0};

TEST(Cause, WhatTheLastRankRanIsTheLongestOnTheWayToItsPart) {
  const char* text = "waited 5.00 s for rank 1, which ran b for 3.00 s of it";
  const Timeline timeline = held_up({{1, 1, 0}, {1, 2, 1}, {1, 3, 2}});
  EXPECT_EQ(waiting_text(timeline, index_spans(timeline), kWaiting), text);
  const Timeline without = held_up({});
  EXPECT_FALSE(knows_causes(without));
  EXPECT_EQ(waiting_text(without, index_spans(without), kWaiting), text);
}

TEST(Cause, WhatRanBesideTheWayToTheLastPartDidNotHoldItUp) {
  const Timeline timeline = held_up({{1, 1, 0}, {1, 2, 4}, {1, 3, 2}});
  EXPECT_EQ(waiting_text(timeline, index_spans(timeline), kWaiting),
            "waited 5.00 s for rank 1, which ran send for 4.00 s of it");
}

TEST(Cause, ThePathGoesThroughSpansWithoutALength) {
  Timeline timeline =
      build_timeline({}, {op(0, "a", "compute"), op(1, "begin", "copy"), op(2, "b", "compute")},
                     {{1, 0, 0, 0, 1, 0, 0}, {1, 0, 1, 1, 0, 0, 0}, {1, 0, 2, 1, 2, 0, 0}});
  link_ops(timeline, {{1, 1, 0}, {1, 2, 1}}, {});
  const auto path = critical_path(timeline, index_spans(timeline));
  ASSERT_EQ(path.size(), 3U);
  EXPECT_EQ(op_at(timeline, path[1].at).name, "begin");
  EXPECT_EQ(path[0].seconds, 1);
  EXPECT_EQ(path[2].seconds, 2);
}

TEST(Cause, WithoutEdgesThereIsNoPathAndStreamsAreKnown) {
  Timeline timeline = two_ranks();
  timeline.waits_for.clear();
  const SpanIndex index = index_spans(timeline);
  EXPECT_FALSE(knows_causes(timeline));
  EXPECT_TRUE(critical_path(timeline, index).empty());
  const auto causes = causes_of(timeline, index, kExperts);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].reason, Reason::stream);
}

}  // namespace
}  // namespace db::cause_test
