#include "tuner/study/prediction_quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::prediction_quality_test {
namespace {

TEST(PredictionQuality, ErrorsHaveACommonPartAndTheirOwn) {
  const std::vector<PredictedTrial> trials{{1.1, 1, {}}, {1.9, 2, {}}, {3.3, 3, {}}};
  const std::vector<double> errors = relative_errors(trials);
  EXPECT_THAT(errors, testing::ElementsAre(testing::DoubleNear(0.1, 1e-12),
                                           testing::DoubleNear(-0.05, 1e-12),
                                           testing::DoubleNear(0.1, 1e-12)));
  EXPECT_NEAR(mean_size(errors), 0.25 / 3, 1e-12);
  EXPECT_NEAR(common_error(errors), 0.05, 1e-12);
  EXPECT_NEAR(common_share(errors).value(), 3 * 0.0025 / 0.0225, 1e-12);
  EXPECT_EQ(worst_of(std::vector{0.1, -0.3, 0.2}), -0.3);
  EXPECT_NEAR(common_share(std::vector{-0.07, -0.07}).value(), 1, 1e-12);
  EXPECT_NEAR(common_share(std::vector{-0.07, 0.07}).value(), 0, 1e-12);
  EXPECT_FALSE(common_share(std::vector{0.0, 0.0}));
  EXPECT_EQ(mean_size({}), 0);
  EXPECT_EQ(worst_of({}), 0);
  EXPECT_EQ(common_error({}), 0);
}

TEST(PredictionQuality, TauCountsPairsInTheSameOrder) {
  const std::vector<PredictedTrial> trials{{2, 1, {}}, {1, 2, {}}, {3, 3, {}}};
  EXPECT_NEAR(kendall_tau(trials).value(), (2 - 1) / 3.0, 1e-12);
  EXPECT_EQ(kendall_tau(trials, [](std::size_t a, std::size_t b) { return a == 2 || b == 2; }), 1)
      << "the swapped pair is tied and does not count";
  const std::vector<PredictedTrial> equal{{1, 1, {}}, {1, 2, {}}, {2, 3, {}}};
  EXPECT_NEAR(kendall_tau(equal).value(), 2 / 3.0, 1e-12);
  EXPECT_FALSE(kendall_tau(std::span(trials).first(1)));
}

TEST(PredictionQuality, RegretIsWhatTheChosenTrialTakesLonger) {
  EXPECT_NEAR(regret(std::vector<PredictedTrial>{{2, 1, {}}, {1, 1.25, {}}, {3, 3, {}}}).value(),
              0.25, 1e-12);
  EXPECT_EQ(regret(std::vector<PredictedTrial>{{1, 1.25, {}}, {2, 1.5, {}}}), 0);
  EXPECT_FALSE(regret({}));
}

TEST(PredictionQuality, SharesOfTrialsAreOfThoseThatHaveADeviation) {
  EXPECT_EQ(
      share_within_deviation(std::vector<PredictedTrial>{{1, 1.5, 0.5}, {2, 1, 0.5}, {3, 3, {}}}),
      0.5);
  EXPECT_FALSE(share_within_deviation(std::vector<PredictedTrial>{{1, 1, {}}}));
}

}  // namespace
}  // namespace tuner::prediction_quality_test
