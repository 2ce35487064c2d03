#include "tuner/planners/joint/joint_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tuner::joint_search_test {
namespace {

using ::testing::ElementsAre;

moe::Schedule cut(int chunks) {
  return {"cut", {moe::PipelineSplit{0, moe::Phase::forward, chunks}}};
}
moe::Schedule placed(int layer) {
  return {"placed", {moe::PlaceWeightGradient{"w", layer, moe::Direction::dispatch, 0}}};
}
/// Decisions that only make sense together.
moe::Schedule overlapped(int chunks) {
  moe::Schedule schedule = cut(chunks);
  schedule.decisions.push_back(moe::StreamAssignment{"all_to_all", moe::Stream::inter_node});
  return schedule;
}
moe::Schedule on_stream() {
  return {"stream", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}};
}

/// Seconds that fall with every aspect that is decided well, and more where two go together.
std::optional<double> toy_seconds(const moe::Schedule& schedule) {
  double seconds = 10;
  bool is_cut = false, has_stream = false;
  for (const auto& split : moe::decisions_of<moe::PipelineSplit>(schedule)) {
    if (split.chunks > 8) return std::nullopt;
    seconds += 0.5 - 0.1 * split.chunks;
    is_cut = true;
  }
  for (const auto& place : moe::decisions_of<moe::PlaceWeightGradient>(schedule)) {
    seconds -= place.layer == 2 ? 1 : -1;
  }
  has_stream = !moe::decisions_of<moe::StreamAssignment>(schedule).empty();
  if (is_cut && has_stream) seconds -= 3;
  return seconds;
}

std::optional<Judgement> toy_judge(const moe::Schedule& schedule, const Judgement&) {
  const auto seconds = toy_seconds(schedule);
  return seconds ? std::optional(Judgement{*seconds, *seconds}) : std::nullopt;
}

std::vector<moe::Schedule> one_chunk_more(const moe::Schedule& schedule) {
  moe::Schedule more = schedule;
  for (moe::Decision& decision : more.decisions) {
    if (auto* split = std::get_if<moe::PipelineSplit>(&decision)) ++split->chunks;
  }
  return {more};
}

TEST(JointSearch, PutsTogetherWhatOthersPlannedApart) {
  moe::Schedule best_alone = placed(2);
  for (const char* other : {"a", "b", "c"}) {
    best_alone.decisions.push_back(moe::PlaceWeightGradient{other, 2, moe::Direction::dispatch, 0});
  }
  const JointProblem problem{{{}, cut(2), placed(1), best_alone, overlapped(2)}, toy_judge, {}};
  const auto found = search_jointly(problem);
  ASSERT_TRUE(found);
  EXPECT_THAT(aspects_of(found->schedule),
              ElementsAre(Aspect::cuts, Aspect::streams, Aspect::weight_gradients));
  EXPECT_DOUBLE_EQ(found->judged.seconds, 10 + 0.5 - 0.2 - 4 - 3);
  EXPECT_EQ(found->seed, 3u);
  EXPECT_DOUBLE_EQ(found->seed_judged.seconds, 6);
}

TEST(JointSearch, GoesOnToNeighboursAndStopsWhereTheyAreNotLegal) {
  const JointProblem problem{{overlapped(2), on_stream()}, toy_judge, {one_chunk_more}};
  const auto found = search_jointly(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(moe::decisions_of<moe::PipelineSplit>(found->schedule).front().chunks, 8);
}

TEST(JointSearch, JudgesNoScheduleTwiceAndKeepsToItsTries) {
  std::multiset<std::string> judged;
  JointProblem problem{{{}, cut(1), cut(1), on_stream(), placed(2)},
                       [&](const moe::Schedule& schedule, const Judgement& to_beat) {
                         judged.insert(moe::decisions_json(schedule));
                         return toy_judge(schedule, to_beat);
                       },
                       {one_chunk_more}};
  const auto found = search_jointly(problem);
  ASSERT_TRUE(found);
  for (const std::string& one : judged) EXPECT_EQ(judged.count(one), 1u) << one;
  EXPECT_EQ(found->tried, static_cast<int>(judged.size()));

  problem.most_tried = 3;
  judged.clear();
  const auto hasty = search_jointly(problem);
  ASSERT_TRUE(hasty);
  EXPECT_LE(hasty->tried, 8);
  EXPECT_GE(hasty->judged.seconds, found->judged.seconds);
}

TEST(JointSearch, IsNeverWorseThanASeedAndSaysWhereNoneMayBe) {
  for (int chunks = 1; chunks < 12; ++chunks) {
    const JointProblem problem{{cut(chunks), placed(1)}, toy_judge, {}};
    const auto found = search_jointly(problem);
    ASSERT_TRUE(found);
    for (const moe::Schedule& seed : problem.seeds) {
      const auto alone = toy_seconds(seed);
      EXPECT_TRUE(!alone || found->judged.seconds <= *alone);
    }
  }
  EXPECT_FALSE(search_jointly({{cut(9)}, toy_judge, {}}));
}

TEST(JointSearch, TakesNothingThatIsSlowerThanTheBestSeedInTheSlowestIteration) {
  // Every chunk more is faster in the median iteration. Above 4 it is slower in the slowest one.
  const auto judge = [](const moe::Schedule& schedule, const Judgement& to_beat) {
    auto judged = toy_judge(schedule, to_beat);
    if (!judged) return judged;
    judged->worst_s = 12;
    for (const auto& split : moe::decisions_of<moe::PipelineSplit>(schedule)) {
      if (split.chunks > 4) judged->worst_s += 1e-3;
    }
    return judged;
  };
  const auto found = search_jointly({{overlapped(2), cut(6)}, judge, {one_chunk_more}});
  ASSERT_TRUE(found);
  EXPECT_EQ(moe::decisions_of<moe::PipelineSplit>(found->schedule).front().chunks, 4);
  EXPECT_EQ(found->judged.worst_s, 12);
}

TEST(JointSearch, SaysWhatEachAspectBrought) {
  const auto taken = each_taken_away(overlapped(2), toy_seconds);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].aspect, Aspect::cuts);
  EXPECT_DOUBLE_EQ(*taken[0].seconds, 10);
  EXPECT_EQ(taken[1].aspect, Aspect::streams);
  EXPECT_DOUBLE_EQ(*taken[1].seconds, 10.3);
}

}  // namespace
}  // namespace tuner::joint_search_test
