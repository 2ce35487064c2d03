#include "db/timeline/collective.h"

#include <gtest/gtest.h>

#include "db/timeline/cause.h"
#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::collective_test {
namespace {

// Rank 0 begins its exchange at 1, rank 1 at 3, when its experts are done. Both end at 5.
Timeline late_rank(bool in_one_group = true) {
  const std::vector<TimelineOp> ops = [] {
    std::vector<TimelineOp> rows(2);
    rows[0].kind = "expert_linear", rows[0].name = "experts down";
    rows[0].activity = "computation", rows[0].stream = "compute";
    rows[0].chunk = 3, rows[0].chunks = 4;
    rows[1].op = 1;
    rows[1].kind = "all_to_all", rows[1].name = "all_to_all combine";
    rows[1].activity = "communication", rows[1].stream = "inter_node",
    rows[1].group_kind = "expert";
    return rows;
  }();
  Timeline timeline = build_timeline(
      {}, ops,
      {{1, 0, 0, 0, 1, 0, 0}, {1, 1, 0, 0, 3, 0, 0}, {1, 0, 1, 1, 4, 0, 0}, {1, 1, 1, 3, 2, 0, 0}});
  link_ops(timeline, {}, {{1, "expert", 0, 0}, {1, "expert", 1, in_one_group ? 0 : 1}});
  return timeline;
}

constexpr SpanPosition kOnRank0{1, 0}, kOnRank1{3, 0};

TEST(Collective, PartsAreThoseOfAllRanksOfTheGroup) {
  const Timeline timeline = late_rank();
  const SpanIndex index = index_spans(timeline);
  const std::optional<Collective> collective = collective_at(timeline, index, kOnRank0);
  ASSERT_TRUE(collective);
  EXPECT_EQ(collective->parts, (std::vector<SpanPosition>{kOnRank0, kOnRank1}));
  EXPECT_EQ(collective->parts[collective->last], kOnRank1);
  EXPECT_EQ(waiting_of(timeline, *collective, kOnRank0), (TimeInterval{1, 3}));
  EXPECT_EQ(waiting_of(timeline, *collective, kOnRank1).length_s(), 0);
  EXPECT_FALSE(collective_at(timeline, index, {0, 0})) << "a computation is none";
}

TEST(Collective, TheTextNamesWhoWasWaitedForAndWhatItRan) {
  const Timeline timeline = late_rank();
  const SpanIndex index = index_spans(timeline);
  EXPECT_EQ(waiting_text(timeline, index, kOnRank0),
            "waited 2.00 s for rank 1, which ran experts down 4/4");
  EXPECT_EQ(waiting_text(timeline, index, kOnRank1), "last to begin; rank 0 waited 2.00 s");
  EXPECT_EQ(waiting_text(timeline, index, {0, 0}), "");
}

TEST(Collective, RanksOfOtherGroupsAreNotWaitedFor) {
  const Timeline timeline = late_rank(false);
  const SpanIndex index = index_spans(timeline);
  EXPECT_EQ(collective_at(timeline, index, kOnRank0)->parts.size(), 1U);
  EXPECT_EQ(waiting_text(timeline, index, kOnRank0), "");
  EXPECT_TRUE(lateness(timeline, index, timeline.extent).empty());
}

TEST(Collective, WithoutKnownGroupsAllRanksAreTakenTogether) {
  Timeline timeline = late_rank(false);
  timeline.first_rank.clear();
  EXPECT_EQ(collective_at(timeline, index_spans(timeline), kOnRank0)->parts.size(), 2U);
}

TEST(Collective, TheNthTimeOfARankBelongsToTheNthOfTheOthers) {
  const Timeline timeline = [] {
    Timeline twice = late_rank();
    twice.lanes[1].spans.push_back({6, 7, twice.lanes[1].spans[0].op, 0, 0});
    twice.lanes[3].spans.push_back({6.5, 7, twice.lanes[1].spans[0].op, 0, 0});
    return twice;
  }();
  const SpanIndex index = index_spans(timeline);
  const std::optional<Collective> second = collective_at(timeline, index, {3, 1});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->parts, (std::vector<SpanPosition>{{1, 1}, {3, 1}}));
}

TEST(Collective, LatenessTellsWhoCausedTheWaiting) {
  const Timeline timeline = late_rank();
  const auto ranks = lateness(timeline, index_spans(timeline), timeline.extent);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].rank, 1);
  EXPECT_EQ(ranks[0].times_last, 1);
  EXPECT_EQ(ranks[0].caused_s, 2);
  EXPECT_EQ(ranks[0].mean_late_s, 2);
  EXPECT_EQ(ranks[0].transfer_s, 2);
  EXPECT_EQ(ranks[1].waiting_s, 2);
  EXPECT_EQ(ranks[1].times_last, 0);
  EXPECT_TRUE(lateness(timeline, index_spans(timeline), {2, 5}).empty()) << "none begins there";
}

TEST(Collective, WhatIsCausedIsWhatIsWaited) {
  const Timeline timeline = random_timeline(5);
  double caused_s = 0, waited_s = 0;
  for (const Lateness& rank : lateness(timeline, index_spans(timeline), timeline.extent)) {
    caused_s += rank.caused_s;
    waited_s += rank.waiting_s;
  }
  EXPECT_GT(waited_s, 0);
  EXPECT_DOUBLE_EQ(caused_s, waited_s);
}

}  // namespace
}  // namespace db::collective_test
