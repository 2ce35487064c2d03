#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "tests/tuner/planners/fsmoe/drawn_phase.h"
#include "tests/tuner/planners/fsmoe/fsmoe_replay.h"
#include "tests/tuner/planners/fsmoe/slsqp_degree.h"
#include "tuner/planners/fsmoe/fsmoe.h"

namespace tuner::fsmoe_degree_test {
namespace {

using namespace test;

TEST(FsmoeDegree, TakesTheLeastAndOfEqualsTheFewest) {
  const auto best = best_degree(4, [](int r) { return r == 2 || r == 3 ? 1.0 : 5.0; });
  EXPECT_EQ(best.chunks, 2);
  EXPECT_DOUBLE_EQ(best.seconds, 1);
  EXPECT_THROW(best_degree(0, [](int) { return 1.0; }), std::invalid_argument);
}

TEST(FsmoeDegree, SlsqpMeetsAnOptimumWorkedByHand) {
  // Experts take the time (case 2): 2 (0.1 + 8/r) + 0.1 + 4/r + 0.1 + 4/r + 0.2 r + 100 is least at
  // r = sqrt(24 / 0.2) = 10.95.
  const MoePhase phase{{0.1, 8}, {0.1, 4}, {0.1, 4}, {0.2, 100}, 0};
  const ChosenDegree by_slsqp = degree_by_slsqp(phase, 32);
  EXPECT_EQ(by_slsqp.chunks, 11);
  EXPECT_DOUBLE_EQ(by_slsqp.seconds, 0.4 + 24.0 / 11 + 2.2 + 100);
  EXPECT_EQ(degree_by_equations(phase, 32).chunks, 11);
  EXPECT_EQ(degree_by_slsqp(phase, 4).chunks, 4);
  EXPECT_EQ(degree_by_slsqp(phase, 1).chunks, 1);
}

TEST(FsmoeDegree, GradientsThatTakeTheTimeAreNotCutFor) {
  // Case 1 whatever r: every chunk only adds two launches.
  const MoePhase phase{{0.1, 1}, {0.01, 0.1}, {0.01, 0.1}, {0.01, 1}, 50};
  EXPECT_EQ(degree_by_slsqp(phase, 8).chunks, 1);
  EXPECT_EQ(degree_by_equations(phase, 8).chunks, 1);
}

TEST(FsmoeDegree, NothingToDoIsOneChunk) { EXPECT_EQ(degree_by_slsqp({}, 8).chunks, 1); }

TEST(FsmoeDegree, SlsqpAndTryingAllAgreeOnNearlyEveryDraw) {
  for (const bool alike : {true, false}) {
    std::mt19937 random(4);
    constexpr int draws = 1000;
    int agree = 0;
    double most_lost = 0;
    for (int i = 0; i < draws; ++i) {
      const MoePhase phase = draw_phase(random, alike);
      const double slsqp_s = degree_by_slsqp(phase, 8).seconds;
      const double best_s = degree_by_equations(phase, 8).seconds;
      EXPECT_GE(slsqp_s, best_s);
      agree += slsqp_s <= best_s * (1 + 1e-12);
      most_lost = std::max(most_lost, slsqp_s / best_s - 1);
    }
    EXPECT_GE(agree, draws * 99 / 100);
    EXPECT_LT(most_lost, 0.05);
  }
}

TEST(FsmoeDegree, ReplayAndSlsqpAgreeOnTheTestbeds) {
  // Mixtral of Table 2, forward and backward.
  const MessageSizes a = message_sizes(2, 1.2, 4, 1024, 4096, 14336, 8);
  const MessageSizes b = message_sizes(2, 1.2, 4, 1024, 4096, 14336, 4);
  for (MoePhase phase : {testbed_phase(testbed_a(), a, 3), testbed_phase(testbed_b(), b, 3)}) {
    for (int backward = 0; backward < 2; ++backward) {
      if (backward) phase.exp = backward_experts(phase.exp);
      const ChosenDegree replayed = degree_by_replay(phase, 16);
      EXPECT_GT(replayed.chunks, 1);
      EXPECT_NEAR(degree_by_slsqp(phase, 16).seconds, replayed.seconds, 0.02 * replayed.seconds);
    }
  }
}

}  // namespace
}  // namespace tuner::fsmoe_degree_test
