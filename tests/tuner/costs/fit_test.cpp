#include "tuner/costs/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace tuner::fit_test {
namespace {

TEST(Fit, FindsTheLineThatMadeTheSamples) {
  std::vector<Sample> samples;
  for (double n = 1024; n <= 1 << 24; n *= 4) samples.push_back({1, n, 20e-6 + 3e-9 * n});
  const LinearFit fit = fit_line(samples, "byte");
  EXPECT_NEAR(fit.alpha_s, 20e-6, 1e-12);
  EXPECT_NEAR(fit.beta_s_per_unit, 3e-9, 1e-15);
  EXPECT_NEAR(fit.r2, 1, 1e-12);
  EXPECT_EQ(fit.samples, 8);
  EXPECT_EQ(fit.min_units, 1024);
  EXPECT_EQ(fit.max_units, 1 << 24);
  EXPECT_LT(fit.max_relative_residual, 1e-9);
  EXPECT_EQ(fit.unit, "byte");
}

TEST(Fit, CountsAlphaOncePerCall) {
  const std::vector<Sample> samples{{1, 10, 2 + 10}, {4, 10, 8 + 10}, {2, 100, 4 + 100}};
  const LinearFit fit = fit_line(samples, "flop");
  EXPECT_NEAR(fit.alpha_s, 2, 1e-9);
  EXPECT_NEAR(fit.beta_s_per_unit, 1, 1e-9);
}

TEST(Fit, SmallSizesCountAsMuchAsLargeOnes) {
  // Large sizes are 5% off the line of the small ones: an absolute fit would ruin alpha.
  std::vector<Sample> samples;
  for (double n : {0.0, 1e3, 2e3, 4e3}) samples.push_back({1, n, 1e-4 + 1e-8 * n});
  for (double n : {1e8, 2e8}) samples.push_back({1, n, 1.05 * (1e-4 + 1e-8 * n)});
  const LinearFit fit = fit_line(samples, "byte");
  EXPECT_NEAR(fit.alpha_s, 1e-4, 5e-6);
  EXPECT_LT(fit.max_relative_residual, 0.06);
}

TEST(Fit, CoefficientsAreNeverNegative) {
  // Steeper than through the origin, and falling.
  EXPECT_EQ(fit_line(std::vector<Sample>{{1, 10, 1}, {1, 20, 4}}, "byte").alpha_s, 0);
  EXPECT_EQ(fit_line(std::vector<Sample>{{1, 10, 4}, {1, 20, 3}}, "byte").beta_s_per_unit, 0);
}

TEST(Fit, OneSizeGivesALineThroughTheOrigin) {
  const LinearFit fit = fit_line(std::vector<Sample>{{1, 100, 2}, {1, 102, 2.04}}, "flop");
  EXPECT_EQ(fit.alpha_s, 0);
  EXPECT_NEAR(fit.beta_s_per_unit, 0.02, 1e-9);
}

TEST(Fit, WithoutUnitsItIsAConstant) {
  const LinearFit fit = fit_line(std::vector<Sample>{{1, 0, 3}, {1, 0, 3}}, "byte");
  EXPECT_NEAR(fit.alpha_s, 3, 1e-12);
  EXPECT_EQ(fit.beta_s_per_unit, 0);
  EXPECT_EQ(fit.r2, 1);
}

TEST(Fit, RefusesWhatIsNoTime) {
  EXPECT_THROW(fit_line({}, "byte"), std::invalid_argument);
  EXPECT_THROW(fit_line(std::vector<Sample>{{1, 1, 0}}, "byte"), std::invalid_argument);
  EXPECT_THROW(fit_line(std::vector<Sample>{{1, 1, NAN}}, "byte"), std::invalid_argument);
}

TEST(Fit, ExtrapolatesBeyondTwiceTheRange) {
  LinearFit fit;
  fit.min_units = 10;
  fit.max_units = 100;
  EXPECT_FALSE(extrapolates(fit, 5));
  EXPECT_FALSE(extrapolates(fit, 200));
  EXPECT_TRUE(extrapolates(fit, 4));
  EXPECT_TRUE(extrapolates(fit, 201));
}

TEST(Fit, KnowsItsDeviationOnlyWithMoreSamplesThanCoefficients) {
  EXPECT_FALSE(fit_line(std::vector<Sample>{{1, 100, 2}}, "byte").relative_deviation);
  EXPECT_FALSE(
      fit_line(std::vector<Sample>{{1, 100, 2}, {1, 1000, 11}}, "byte").relative_deviation);
  // One coefficient: 1 s, met 10% above and below; both are off by a tenth or so.
  const LinearFit fit = fit_line(std::vector<Sample>{{1, 1, 0.9}, {1, 1, 1.1}}, "second");
  ASSERT_TRUE(fit.relative_deviation);
  EXPECT_NEAR(*fit.relative_deviation, 0.1 * std::sqrt(2.0), 2e-2);
}

}  // namespace
}  // namespace tuner::fit_test
