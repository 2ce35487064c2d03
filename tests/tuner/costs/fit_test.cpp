#include "tuner/costs/fit.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace tuner::fit_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Fit, FindsTheLineThatMadeTheSamples) {
  std::vector<Sample> samples;
  for (double n = 1024; n <= 1 << 24; n *= 4) samples.push_back({1, n, 20e-6 + 3e-9 * n});
  const LinearFit fit = fit_curve(samples, "byte");
  EXPECT_NEAR(fit.alpha_s, 20e-6, 1e-12);
  EXPECT_NEAR(fit.beta_s_per_unit, 3e-9, 1e-15);
  EXPECT_NEAR(fit.r2.value(), 1, 1e-12);
  EXPECT_EQ(fit.samples, 8);
  EXPECT_EQ(fit.min_units, 1024);
  EXPECT_EQ(fit.max_units, 1 << 24);
  EXPECT_LT(fit.max_relative_residual, 1e-9);
  EXPECT_EQ(fit.unit, "byte");
}

TEST(Fit, CountsAlphaOncePerCall) {
  const std::vector<Sample> samples{{1, 10, 2 + 10}, {4, 10, 8 + 10}, {2, 100, 4 + 100}};
  const LinearFit fit = fit_curve(samples, "flop");
  EXPECT_NEAR(fit.alpha_s, 2, 1e-9);
  EXPECT_NEAR(fit.beta_s_per_unit, 1, 1e-9);
}

TEST(Fit, SmallSizesCountAsMuchAsLargeOnes) {
  // Large sizes are 5% off the line of the small ones: an absolute fit would ruin alpha.
  std::vector<Sample> samples;
  for (double n : {0.0, 1e3, 2e3, 4e3}) samples.push_back({1, n, 1e-4 + 1e-8 * n});
  for (double n : {1e8, 2e8}) samples.push_back({1, n, 1.05 * (1e-4 + 1e-8 * n)});
  const LinearFit fit = fit_curve(samples, "byte");
  EXPECT_NEAR(fit.alpha_s, 1e-4, 5e-6);
  EXPECT_LT(fit.max_relative_residual, 0.06);
}

TEST(Fit, CoefficientsAreNeverNegative) {
  // Steeper than through the origin, and falling.
  EXPECT_EQ(fit_curve(std::vector<Sample>{{1, 10, 1}, {1, 20, 4}}, "byte").alpha_s, 0);
  EXPECT_EQ(fit_curve(std::vector<Sample>{{1, 10, 4}, {1, 20, 3}}, "byte").beta_s_per_unit, 0);
}

TEST(Fit, OneSizeGivesALineThroughTheOrigin) {
  const LinearFit fit = fit_curve(std::vector<Sample>{{1, 100, 2}, {1, 102, 2.04}}, "flop");
  EXPECT_EQ(fit.alpha_s, 0);
  EXPECT_NEAR(fit.beta_s_per_unit, 0.02, 1e-9);
}

TEST(Fit, WithoutUnitsItIsAConstant) {
  const LinearFit fit = fit_curve(std::vector<Sample>{{1, 0, 3}, {1, 0, 3}}, "byte");
  EXPECT_NEAR(fit.alpha_s, 3, 1e-12);
  EXPECT_EQ(fit.beta_s_per_unit, 0);
  EXPECT_EQ(fit.r2, 1);
}

TEST(Fit, RefusesWhatIsNoTime) {
  EXPECT_THROW(fit_curve({}, "byte"), std::invalid_argument);
  EXPECT_THROW(fit_curve(std::vector<Sample>{{1, 1, 0}}, "byte"), std::invalid_argument);
  EXPECT_THROW(fit_curve(std::vector<Sample>{{1, 1, NAN}}, "byte"), std::invalid_argument);
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
  EXPECT_FALSE(fit_curve(std::vector<Sample>{{1, 100, 2}}, "byte").relative_deviation);
  EXPECT_FALSE(
      fit_curve(std::vector<Sample>{{1, 100, 2}, {1, 1000, 11}}, "byte").relative_deviation);
  // One coefficient: 1 s, met 10% above and below; both are off by a tenth or so.
  const LinearFit fit = fit_curve(std::vector<Sample>{{1, 1, 0.9}, {1, 1, 1.1}}, "second");
  ASSERT_TRUE(fit.relative_deviation);
  EXPECT_NEAR(*fit.relative_deviation, 0.1 * std::sqrt(2.0), 2e-2);
}

TEST(Fit, HasNoR2WhereNothingIsLeftToCheck) {
  EXPECT_FALSE(fit_curve(std::vector<Sample>{{1, 100, 2}, {1, 1000, 11}}, "byte").r2);
  EXPECT_FALSE(fit_curve(std::vector<Sample>{{1, 100, 2}}, "byte").r2);
  EXPECT_TRUE(fit_curve(std::vector<Sample>{{1, 100, 2}, {1, 100, 2.1}}, "byte").r2);
}

/// A sweep of 14 sizes on a line, with relative noise of this deviation.
std::vector<Sample> sweep(double alpha_s, double beta_s, double noise, int seed = 1) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal(0, noise);
  std::vector<Sample> samples;
  for (int i = 0; i < 14; ++i) {
    const double bytes = 1024 * std::pow(2, i);
    samples.push_back({1, bytes, (alpha_s + beta_s * bytes) * (1 + normal(random))});
  }
  return samples;
}

TEST(Fit, StandardErrorsAreThoseOfManySweeps) {
  double alpha_squares = 0, beta_squares = 0, alpha_errors = 0, beta_errors = 0;
  constexpr int kSweeps = 400;
  for (int seed = 0; seed < kSweeps; ++seed) {
    const LinearFit fit = fit_curve(sweep(30e-6, 8e-9, 0.02, seed), "byte");
    alpha_squares += std::pow(fit.alpha_s - 30e-6, 2) / kSweeps;
    beta_squares += std::pow(fit.beta_s_per_unit - 8e-9, 2) / kSweeps;
    alpha_errors += *fit.alpha_error_s / kSweeps;
    beta_errors += *fit.beta_error_s_per_unit / kSweeps;
  }
  EXPECT_NEAR(alpha_errors / std::sqrt(alpha_squares), 1, 0.1);
  EXPECT_NEAR(beta_errors / std::sqrt(beta_squares), 1, 0.1);
}

TEST(FitCurve, OneSampleFiveTimesTooSlowDoesNotBendIt) {
  const LinearFit clean = fit_curve(sweep(30e-6, 8e-9, 0.02), "byte");
  for (std::size_t slow = 0; slow < 14; ++slow) {
    std::vector<Sample> samples = sweep(30e-6, 8e-9, 0.02);
    samples[slow].seconds *= 5;
    const LinearFit fit = fit_curve(samples, "byte");
    EXPECT_EQ(fit.outliers, 1) << slow;
    EXPECT_EQ(fit.samples, 13) << slow;
    EXPECT_THAT(fit.points, IsEmpty()) << slow;
    EXPECT_NEAR(fit.alpha_s, clean.alpha_s, *clean.alpha_error_s) << slow;
    EXPECT_NEAR(fit.beta_s_per_unit, clean.beta_s_per_unit, *clean.beta_error_s_per_unit) << slow;
    EXPECT_EQ(verdict_of(fit), "1 outlier left out") << slow;
  }
}

TEST(FitCurve, IsALineWhereThatExplainsTheSamples) {
  for (const double noise : {0.0, 0.02, 0.05, 0.1}) {
    int bent = 0;
    for (int seed = 0; seed < 100; ++seed) {
      const LinearFit fit = fit_curve(sweep(30e-6, 8e-9, noise, seed), "byte");
      if (!fit.points.empty()) ++bent;
      for (const Sample& one : sweep(30e-6, 8e-9, 0)) {
        EXPECT_NEAR(seconds_of(fit, 1, one.units) / one.seconds, 1, 1e-9 + 3.5 * noise) << seed;
      }
    }
    if (noise < 0.05) {
      EXPECT_LE(bent, 5) << noise;
    }
  }
}

TEST(FitCurve, FollowsCachesWithFewPoints) {
  // The small half is three times as fast.
  std::vector<Sample> samples = sweep(0, 1e-10, 0.01);
  for (std::size_t i = 0; i < 7; ++i) samples[i].seconds /= 3;
  const LinearFit fit = fit_curve(samples, "byte");
  EXPECT_EQ(fit.outliers, 0);
  EXPECT_LE(fit.points.size(), 6u);
  EXPECT_LT(fit.max_relative_residual, 0.1);
}

/// 512 B to 512 MiB over a link whose rate goes on rising with the size, and whose protocols change at
/// two sizes, at the second of which larger calls take less time.
std::vector<Sample> nvlink(double noise, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal(0, noise);
  std::vector<Sample> samples;
  for (double bytes = 512; bytes <= double(1 << 29); bytes *= 2) {
    const double rate = bytes < 64e3 ? 10e9 : 480e9 * bytes / (bytes + 20e6);
    const double startup_s = bytes < 64e3 ? 10e-6 : bytes < 512e3 ? 18e-6 : 12e-6;
    samples.push_back({1, bytes, (startup_s + bytes / rate) * (1 + normal(random))});
  }
  return samples;
}

TEST(FitCurve, FollowsARateThatRisesWithTheSize) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<Sample> samples = nvlink(0.01, seed);
    const LinearFit fit = fit_curve(samples, "byte");
    EXPECT_EQ(fit.outliers, 0) << "the largest are none";
    EXPECT_LE(fit.points.size(), 12u) << "of 21 sizes";
    for (const Sample& sample : samples) {
      if (sample.units < 16e3) continue;
      const double most = sample.units < 1e6 ? 0.15 : 0.05;
      EXPECT_NEAR(seconds_of(fit, 1, sample.units) / sample.seconds, 1, most)
          << sample.units << " bytes, seed " << seed;
    }
    EXPECT_GT(seconds_of(fit, 1, 1 << 30), seconds_of(fit, 1, 1 << 29));
  }
}

TEST(FitLine, LeavesOutAThirdOfTheSamplesThatAreOfNoLine) {
  std::vector<Sample> samples = sweep(30e-6, 8e-9, 0.02);
  EXPECT_EQ(fit_line(samples, "byte").outliers, 0);
  for (const double bytes : {256e3, 260e3, 1e6, 4e6}) samples.push_back({1, bytes, 5e-6});
  const LinearFit fit = fit_line(samples, "byte");
  EXPECT_EQ(fit.outliers, 4);
  EXPECT_THAT(fit.points, IsEmpty());
  EXPECT_NEAR(fit.alpha_s, 30e-6, 3e-6);
  EXPECT_NEAR(fit.beta_s_per_unit, 8e-9, 0.2e-9);
}

TEST(FitCurve, FewSamplesDoNotTellWhichIsWrong) {
  const std::vector<Sample> samples{{1, 1e3, 1}, {1, 1e4, 2}, {1, 1e5, 60}, {1, 1e6, 100}};
  EXPECT_EQ(fit_curve(samples, "byte").outliers, 0);
}

TEST(Verdict, SaysWhatIsWrong) {
  EXPECT_EQ(verdict_of(fit_curve(sweep(30e-6, 8e-9, 0.02), "byte")), "good");
  // From 256 KiB on, an alpha of 30 us is hidden in 2% of noise.
  const auto from = [](std::size_t first) {
    const std::vector<Sample> all = sweep(30e-6, 8e-9, 0.02);
    return std::vector<Sample>(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  };
  EXPECT_EQ(verdict_of(fit_curve(from(8), "byte")), "alpha not resolved");
  EXPECT_FALSE(is_doubtful(fit_curve(from(8), "byte")));
  EXPECT_TRUE(is_doubtful(fit_curve(from(11), "byte")));
  EXPECT_EQ(verdict_of(fit_curve(from(11), "byte")), "too few samples");
  EXPECT_EQ(verdict_of(fit_curve(std::vector<Sample>(8, {1, 1e6, 1e-3}), "byte")),
            "alpha not resolved");
  LinearFit slowdown;
  slowdown.unit = "second";
  EXPECT_EQ(verdict_of(slowdown), "too few samples");
  slowdown.samples = 4;
  slowdown.relative_deviation = 0.02;
  EXPECT_EQ(verdict_of(slowdown), "good");
  slowdown.relative_deviation = 0.3;
  EXPECT_EQ(verdict_of(slowdown), "samples scatter");
}

TEST(FitPoints, TellTheTimeOfEverySizeOnStraightPieces) {
  const LinearFit fit = fit_points({{1000, 1}, {2000, 1.5}, {4000, 5}}, "byte");
  EXPECT_DOUBLE_EQ(seconds_of(fit, 1, 1500), 1.25);
  EXPECT_DOUBLE_EQ(seconds_of(fit, 2, 6000), 2 * 3.25) << "calls of 3000 each";
  EXPECT_DOUBLE_EQ(seconds_of(fit, 1, 8000), 12) << "the last piece goes on";
  EXPECT_DOUBLE_EQ(seconds_of(fit, 1, 0), 0.5) << "as does the first";
  const StraightPiece piece = piece_at(fit, 3000);
  EXPECT_DOUBLE_EQ(piece.startup_s, 0.5);
  EXPECT_DOUBLE_EQ(piece.startup_s + 3000 * piece.s_per_unit, 3.25);
  const LinearFit falling = fit_points({{1000, 1}, {2000, 9}, {3000, 8}}, "byte");
  EXPECT_EQ(seconds_of(falling, 1, 1), 0.001) << "no faster than the first point";
  EXPECT_EQ(seconds_of(falling, 1, 9000), 8) << "no less than the last one";
}

TEST(FitCurve, OfProductsSaysWhatALineCannot) {
  // 4 us a call, and 1 ns a flop in small products, 0.8 in middle ones, 1.2 in large ones.
  const auto seconds = [](double calls, double units) {
    const double size = units / calls;
    return 4e-6 * calls + units * (size < 2000 ? 1e-9 : size < 20000 ? 0.8e-9 : 1.2e-9);
  };
  std::vector<Sample> samples;
  for (const double calls : {1., 2., 4.}) {
    for (const double size : {1000., 1010., 9000., 9100., 70000., 71000.}) {
      samples.push_back({calls, calls * size, seconds(calls, calls * size)});
    }
  }
  const LinearFit bent = fit_curve(samples, "flop");
  EXPECT_LT(bent.max_relative_residual, 0.02);
  EXPECT_THAT(bent.points, SizeIs(3));
}

}  // namespace
}  // namespace tuner::fit_test
