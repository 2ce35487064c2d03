#include "moe/kernels/learning_rate.h"

#include <gtest/gtest.h>

namespace moe::kernels_learning_rate_test {
namespace {

TEST(LearningRate, IsThePeakForEverWhereNothingIsAsked) {
  for (const int step : {1, 2, 1000000}) EXPECT_EQ(rate_at({.peak = 3e-4}, step), 3e-4);
}

TEST(LearningRate, RisesInProportionToTheStepUpToTheEndOfTheWarmup) {
  const LearningRate rate{.peak = 1, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(rate_at(rate, 1), 0.25);
  EXPECT_DOUBLE_EQ(rate_at(rate, 3), 0.75);
  EXPECT_DOUBLE_EQ(rate_at(rate, 4), 1);
  EXPECT_DOUBLE_EQ(rate_at(rate, 5), 1);
}

TEST(LearningRate, OfACosineIsHalfwayInTheMiddleAndTheFloorFromItsEndOn) {
  const LearningRate rate{1, 0.1, 10, 30, RateSchedule::cosine};
  EXPECT_DOUBLE_EQ(rate_at(rate, 10), 1);
  EXPECT_NEAR(rate_at(rate, 15), 0.1 + 0.9 * 0.8535533905932737, 1e-15);  // (1 + cos(pi/4)) / 2
  EXPECT_NEAR(rate_at(rate, 20), 0.55, 1e-15);
  EXPECT_DOUBLE_EQ(rate_at(rate, 30), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(rate, 4000), 0.1);
}

TEST(LearningRate, OfALineFallsByTheSameAmountInEveryStep) {
  const LearningRate rate{1, 0.2, 2, 10, RateSchedule::linear};
  EXPECT_DOUBLE_EQ(rate_at(rate, 2), 1);
  EXPECT_NEAR(rate_at(rate, 3), 0.9, 1e-15);
  EXPECT_NEAR(rate_at(rate, 9), 0.3, 1e-15);
  EXPECT_DOUBLE_EQ(rate_at(rate, 10), 0.2);
  EXPECT_DOUBLE_EQ(rate_at(rate, 11), 0.2);
}

TEST(LearningRate, OfAnInverseSquareRootHalvesWithFourTimesTheSteps) {
  const LearningRate rate{1, 0.125, 16, 0, RateSchedule::inverse_square_root};
  EXPECT_DOUBLE_EQ(rate_at(rate, 16), 1);
  EXPECT_DOUBLE_EQ(rate_at(rate, 64), 0.5);
  EXPECT_DOUBLE_EQ(rate_at(rate, 1 << 20), 0.125) << "the floor";
  const LearningRate cold{.peak = 1, .schedule = RateSchedule::inverse_square_root};
  EXPECT_DOUBLE_EQ(rate_at(cold, 1), 1);
  EXPECT_DOUBLE_EQ(rate_at(cold, 4), 0.5);
}

}  // namespace
}  // namespace moe::kernels_learning_rate_test
