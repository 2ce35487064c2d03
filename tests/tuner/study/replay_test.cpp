#include "tuner/study/replay.h"

#include <gtest/gtest.h>

#include "moe/passes/replicate_experts.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::replay_test {
namespace {

struct ReplayTest : ::testing::Test {
  test::SkewedSituation skewed;
  std::vector<moe::Routing> routings =
      make_routings("drift:2:0.3:7", skewed.program, skewed.groups, 1);
  std::vector<PlanMemory> memories = std::vector<PlanMemory>(routings.size());
  const Planner& planner = planner_named("fastermoe");
  std::vector<const moe::Routing*> planned_from;

  Situation situation() {
    Situation all = skewed.situation;
    all.routings = routings;
    return all;
  }
  Replay replayed(int plan_every, int history = 1) {
    planned_from.clear();
    return replay(situation(), planner, {plan_every, history}, memories, [&](const Situation& one) {
      EXPECT_EQ(routings_of(one).size(), static_cast<std::size_t>(history));
      EXPECT_EQ(one.routing.layers[0].tokens, routings_of(one).back().layers[0].tokens);
      planned_from.push_back(&one.routing);
      return plan_with(planner, one, {});
    });
  }
};

TEST_F(ReplayTest, PlansFromTheIterationBefore) {
  EXPECT_EQ(replayed(1).plans, 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(planned_from[i], &routings[i]);
  EXPECT_EQ(replayed(4).plans, 2);
  EXPECT_EQ(planned_from[0], &routings[0]);
  EXPECT_EQ(planned_from[1], &routings[4]);
}

TEST_F(ReplayTest, BeginsAfterTheHistoryByWhichPlansAreJudged) {
  const Replay replay = replayed(2, 3);
  EXPECT_EQ(replay.plans, 2);
  EXPECT_EQ(planned_from[0], &routings[2]);
  EXPECT_EQ(planned_from[1], &routings[4]);
  EXPECT_EQ(replayed(9, 6).prediction.routing.layers[0].tokens, routings[6].layers[0].tokens);
  EXPECT_THROW(replayed(1, 7), std::invalid_argument);
}

TEST_F(ReplayTest, IsTheMedianOfTheIterationsUnderTheirPlans) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < routings.size(); ++i) {
    Situation before = skewed.situation;
    const Situation from{before.program, before.groups, routings[i - 1], before.costs,
                         before.cluster};
    const Situation in{before.program, before.groups, routings[i], before.costs, before.cluster};
    seconds.push_back(predict(in, planner, plan_with(planner, from, {})).timeline.duration_s);
  }
  const std::size_t median = median_place(seconds);
  const Replay replay = replayed(1);
  EXPECT_EQ(replay.prediction.timeline.duration_s, seconds[median]);
  EXPECT_EQ(replay.prediction.routing.layers[0].tokens, routings[median + 1].layers[0].tokens);
  EXPECT_FALSE(moe::decisions_of<moe::ReplicateExperts>(replay.schedule).empty());
}

TEST_F(ReplayTest, TakesTheSlowdownsOfEachIterationInTurn) {
  ASSERT_EQ(routings.size(), 7u);
  const double even_s = replayed(1).prediction.timeline.duration_s;
  const auto ranks = static_cast<std::size_t>(skewed.groups.ranks);
  const Slowdowns slow(ranks, 3);
  const auto replayed_s = [&](std::vector<Slowdowns> slowdowns) {
    CostModel costs = skewed.situation.costs;
    costs.slowdowns = std::move(slowdowns);
    Situation unequal{skewed.program, skewed.groups, skewed.situation.routing, costs,
                      skewed.situation.cluster};
    unequal.routings = routings;
    return replay(unequal, planner, {}, memories,
                  [&](const Situation& one) {
                    EXPECT_TRUE(one.costs.slowdowns.empty()) << "a plan does not know them";
                    return plan_with(planner, one, {});
                  })
        .prediction.timeline.duration_s;
  };
  // Iterations 1, 2, 4 and 5 of 1 to 6 are slow: so is the median.
  EXPECT_GT(replayed_s({Slowdowns(ranks, 1), slow, slow}), 1.4 * even_s);
  // Iterations 1 and 4 of 1 to 6 are slow.
  EXPECT_LT(replayed_s({Slowdowns(ranks, 1), slow, Slowdowns(ranks, 1)}), 1.2 * even_s);
}

TEST_F(ReplayTest, OfPlansFromOldLoadsIsNoFaster) {
  EXPECT_LE(replayed(1).prediction.timeline.duration_s, replayed(6).prediction.timeline.duration_s);
}

TEST_F(ReplayTest, NeedsTwoIterations) {
  routings.resize(1);
  memories.resize(1);
  EXPECT_THROW(replayed(1), std::invalid_argument);
}

}  // namespace
}  // namespace tuner::replay_test
