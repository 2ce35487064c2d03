#include "tuner/study/prediction_quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tuner::prediction_quality_test {
namespace {

bool always(std::size_t, std::size_t) { return true; }

TEST(PredictionQuality, ErrorsHaveACommonPartAndTheirOwn) {
  const std::vector<PredictedTrial> trials{{1.1, 1, {}}, {1.9, 2, {}}, {3.3, 3, {}}};
  EXPECT_THAT(relative_errors(trials), testing::ElementsAre(testing::DoubleNear(0.1, 1e-12),
                                                            testing::DoubleNear(-0.05, 1e-12),
                                                            testing::DoubleNear(0.1, 1e-12)));
  const db::PredictionQuality quality = quality_of(trials, always);
  EXPECT_EQ(quality.trials, 3);
  EXPECT_NEAR(quality.mean_error, 0.25 / 3, 1e-12);
  EXPECT_NEAR(quality.common_error, 0.05, 1e-12);
  EXPECT_NEAR(quality.common_share.value(), 3 * 0.0025 / 0.0225, 1e-12);
  EXPECT_NEAR(
      quality_of(std::vector<PredictedTrial>{{1.1, 1, {}}, {0.7, 1, {}}}, always).worst_error, -0.3,
      1e-12);
  EXPECT_FALSE(quality_of(std::vector<PredictedTrial>{{1, 1, {}}}, always).common_share);
  EXPECT_EQ(quality_of({}, always).trials, 0);
}

TEST(PredictionQuality, TheCommonFactorIsInNoErrorOfItsOwn) {
  // Predicted 10% and 21% too long: 1.1 is common to both, but for 4.9% up and 4.7% down.
  const std::vector<PredictedTrial> trials{{1.1, 1, {}}, {2.42, 2, {}}};
  EXPECT_NEAR(own_error(trials), (std::sqrt(1.1) - 1 / std::sqrt(1.1)) / 2, 1e-9);
}

TEST(PredictionQuality, TauCountsPairsInTheSameOrder) {
  const std::vector<PredictedTrial> trials{{2, 1, {}}, {1, 2, {}}, {3, 3, {}}};
  const db::PredictionQuality quality =
      quality_of(trials, [](std::size_t a, std::size_t b) { return a == 2 || b == 2; });
  EXPECT_NEAR(quality.kendall_tau.value(), (2 - 1) / 3.0, 1e-12);
  EXPECT_EQ(quality.kendall_tau_told_apart, 1) << "the swapped pair is tied and does not count";
  const std::vector<PredictedTrial> equal{{1, 1, {}}, {1, 2, {}}, {2, 3, {}}};
  EXPECT_NEAR(quality_of(equal, always).kendall_tau.value(), 2 / 3.0, 1e-12);
  EXPECT_FALSE(quality_of(std::span(trials).first(1), always).kendall_tau);
}

TEST(PredictionQuality, RegretIsWhatTheChosenTrialTakesLonger) {
  const std::vector<PredictedTrial> other{{2, 1, {}}, {1, 1.25, {}}, {3, 3, {}}};
  EXPECT_NEAR(quality_of(other, always).regret.value(), 0.25, 1e-12);
  EXPECT_EQ(quality_of(std::vector<PredictedTrial>{{1, 1.25, {}}, {2, 1.5, {}}}, always).regret, 0);
  EXPECT_FALSE(quality_of({}, always).regret);
}

TEST(PredictionQuality, SharesOfTrialsAreOfThoseThatHaveADeviation) {
  EXPECT_EQ(
      share_within_deviation(std::vector<PredictedTrial>{{1, 1.5, 0.5}, {2, 1, 0.5}, {3, 3, {}}}),
      0.5);
  EXPECT_FALSE(share_within_deviation(std::vector<PredictedTrial>{{1, 1, {}}}));
}

}  // namespace
}  // namespace tuner::prediction_quality_test
