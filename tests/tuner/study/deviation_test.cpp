#include "tuner/study/deviation.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "db/console/statistics.h"
#include "tests/tuner/small_program.h"
#include "tuner/costs/fit.h"
#include "tuner/planners/planners.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/prediction.h"
#include "tuner/study/ties.h"

namespace tuner::deviation_test {
namespace {

using namespace test;

/// A line of one coefficient.
LinearFit fit_of(double deviation, int samples) {
  LinearFit fit;
  fit.beta_s_per_unit = 1;
  fit.samples = samples;
  fit.relative_deviation = deviation;
  return fit;
}

TEST(Deviation, OfAFitCountsSizesApartAndTheLineTogether) {
  const std::vector<double> sizes{3, 4};
  EXPECT_NEAR(*deviation_of_fit(fit_of(0.1, 1'000'000), sizes), 0.5, 1e-4);
  EXPECT_NEAR(*deviation_of_fit(fit_of(0.1, 2), sizes), 0.1 * std::sqrt(25 + 49 / 2.0), 1e-12);
  EXPECT_EQ(*deviation_of_fit(fit_of(0.1, 2), {}), 0);
  EXPECT_FALSE(deviation_of_fit(LinearFit(), sizes));
}

TEST(Deviation, OfAPredictionAddsUpAsIndependentErrors) {
  const std::vector<double> fits{0.3, 0.4};
  EXPECT_NEAR(deviation_of_prediction(12, fits, 0.1, std::nullopt), std::sqrt(0.25 + 1.44), 1e-12);
  EXPECT_NEAR(deviation_of_prediction(12, fits, 0.1, 0.2), std::sqrt(0.25 + 1.44 + 5.76), 1e-12);
  EXPECT_NEAR(deviation_of_prediction(12, fits, std::nullopt, std::nullopt), 0.5, 1e-12);
  EXPECT_EQ(deviation_of_prediction(12, {}, std::nullopt, std::nullopt), 0);
}

TEST(Deviation, OfAProfileIsThatOfItsSchedulesMedians) {
  EXPECT_NEAR(deviation_of_profile({{0.1, -5, 0.1}, {-0.1}}), 0.1 * std::sqrt(1.5), 1e-12);
  EXPECT_NEAR(deviation_of_profile({{0.3}, {0.4}}), std::sqrt(0.125 * 1.5), 1e-12);
  EXPECT_THROW(deviation_of_profile({}), std::invalid_argument);
  EXPECT_THROW(deviation_of_profile({{0.1}, {}}), std::invalid_argument);
}

TEST(Deviation, OfDriftIsThatOfMomentsWithoutSchedulesAndNoise) {
  // Predicted over measured, as logarithms: schedule 1 is off by 0.1, schedule 2 by -0.2; moments
  // by -0.02, 0 and 0.02.
  std::vector<RunErrors> runs;
  for (const int moment : {0, 1, 2}) {
    const double term = 0.02 * (moment - 1);
    runs.push_back({1, moment, {std::exp(0.1 + term) - 1, 9, -0.9}});
    runs.push_back({2, moment, {std::exp(-0.2 + term) - 1}});
  }
  const double three = 0.02 * db::student_t(2, 0.6827);  // moments
  constexpr double kHalfPi = std::numbers::pi / 2;
  EXPECT_NEAR(deviation_of_drift(runs).value(), three * std::sqrt(kHalfPi / 3 + 0.5), 1e-9);
  runs.push_back({3, 3, {0.5}});  // nothing tells its schedule from its moment
  EXPECT_NEAR(deviation_of_drift(runs).value(), three * std::sqrt(kHalfPi / 4 + 0.5), 1e-9)
      << "costs are medians over that moment too";
  runs.erase(runs.begin() + 2, runs.end() - 1);
  EXPECT_EQ(deviation_of_drift(runs), std::nullopt) << "no schedule at two moments";
  EXPECT_EQ(deviation_of_drift({}), std::nullopt);
}

TEST(Deviation, OfDriftCountsSchedulesThatWereTrainedAlone) {
  // Each at two moments of its own, 0.02 before and after: four differences of 0.04.
  std::vector<RunErrors> runs;
  for (int moment = 0; moment < 8; ++moment) {
    runs.push_back({moment % 4, moment, {std::exp(moment < 4 ? -0.02 : 0.02) - 1}});
  }
  const double d = std::sqrt(8 * 0.02 * 0.02 / 4);  // of 8 terms in 4 groups
  const double of_median = std::numbers::pi / 2 / 8;
  EXPECT_NEAR(deviation_of_drift(runs).value(),
              d * db::student_t(4, 0.6827) * std::sqrt(of_median + 0.5), 1e-9);
}

/// The share of many draws in which the truth lies within `times` of the stated deviation.
class Coverage {
 public:
  void add(double predicted_s, double truth_s, double deviation_s) {
    const double off = std::abs(predicted_s - truth_s);
    one_ += off <= deviation_s ? 1 : 0;
    two_ += off <= 2 * deviation_s ? 1 : 0;
    ++draws_;
  }
  void expect_within(double one, double two) const {
    EXPECT_NEAR(one_ / draws_, one, 0.04);
    EXPECT_NEAR(two_ / draws_, two, 0.025);
  }

 private:
  double one_ = 0, two_ = 0, draws_ = 0;
};

/// Three kinds of ops whose time at each size is off a line by its own few percent.
struct OffLines {
  static constexpr std::array<double, 3> noise{0.02, 0.05, 0.1};
  std::mt19937 random;
  std::normal_distribution<double> normal;

  explicit OffLines(unsigned seed) : random(seed) {}
  double truth(std::size_t kind, double units) {
    return (1e-4 + 1e-9 * units) * (1 + noise[kind] * normal(random));
  }
};

TEST(Deviation, OfFitsWithKnownNoiseCoversTheTruthAsOftenAsItClaims) {
  Coverage coverage;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    OffLines world(seed);
    double predicted = 0, truth = 0;
    std::vector<double> of_fits;
    for (std::size_t kind = 0; kind < 3; ++kind) {
      std::vector<Sample> samples;
      for (double units = 1e4; units < 1e8; units *= 1.5) {
        samples.push_back({1, units, world.truth(kind, units)});
      }
      const LinearFit fit = fit_line(samples, "byte");
      ASSERT_TRUE(fit.relative_deviation);
      std::vector<double> of_sizes;
      for (const double units : {3.1e5, 4.7e6, 3.3e7}) {
        const double times = 2 + static_cast<double>(kind);  // ops of one size are off alike
        const double seconds = times * seconds_of(fit, 1, units);
        predicted += seconds;
        truth += times * world.truth(kind, units);
        of_sizes.push_back(seconds);
      }
      of_fits.push_back(deviation_of_fit(fit, of_sizes).value());
    }
    coverage.add(predicted, truth,
                 deviation_of_prediction(predicted, of_fits, std::nullopt, std::nullopt));
  }
  coverage.expect_within(0.683, 0.954);
}

TEST(Deviation, OfAProfileOfFourRunsCoversTheTruthAsOftenAsItClaims) {
  Coverage coverage;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> of_schedule(0, 0.04), of_iteration(0, 0.02);
    std::vector<std::vector<double>> errors(4);
    for (auto& of_run : errors) {
      const double error = of_schedule(random);
      for (int iteration = 0; iteration < 12; ++iteration) {
        of_run.push_back(error + of_iteration(random));
      }
    }
    const double predicted = 0.4;
    coverage.add(
        predicted, predicted / (1 + of_schedule(random)),
        deviation_of_prediction(predicted, {}, deviation_of_profile(errors), std::nullopt));
  }
  coverage.expect_within(0.683, 0.92);  // of few runs the tails are longer than normal ones
}

TEST(Deviation, OfAMachineThatDriftsCoversLaterTrialsAsOftenAsItClaims) {
  constexpr int kSchedules = 7;
  for (const int moments : {2, 3, 6}) {
    Coverage coverage;
    for (unsigned seed = 0; seed < 4000; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> of_schedule(0, 0.01), of_moment(0, 0.05);
      std::vector<double> paces;
      for (int moment = 0; moment < moments; ++moment) paces.push_back(of_moment(random));
      const double predicted = db::median(paces);
      std::vector<RunErrors> runs;
      std::vector<std::vector<double>> by_schedule(kSchedules);
      for (int schedule = 0; schedule < kSchedules; ++schedule) {
        const double term = of_schedule(random);
        for (int moment = 0; moment < moments; ++moment) {
          runs.push_back({schedule, moment, {std::exp(term + predicted - paces[moment]) - 1}});
          by_schedule[schedule].push_back(runs.back().errors.front());
        }
      }
      const double measured = (of_moment(random) + of_moment(random)) / 2 + of_schedule(random);
      coverage.add(1, std::exp(measured - predicted),
                   deviation_of_prediction(1, {}, deviation_of_profile(by_schedule),
                                           deviation_of_drift(runs)));
    }
    // Few moments make the tails longer than those of a normal distribution.
    coverage.expect_within(0.69, moments == 2 ? 0.86 : 0.92);
  }
}

TEST(Deviation, CountsOpsOfOneFitAndSizeTogether) {
  auto layer = small_layer(true);
  CostModel model = small_costs();
  for (auto& [key, fit] : model.fits) {
    fit.relative_deviation = 0.1;
    fit.samples = 1'000'000'000;
  }
  model.fits["permute"].relative_deviation.reset();
  const moe::Routing routing = small_routing({{1000, 1000}, {1000, 1000}});
  const Situation situation{layer.program, two_nodes(), routing, model, small_cluster()};
  const Planner& sequential = planner_named("sequential");
  const Prediction prediction = predict(situation, sequential, {"sequential", {}});
  // experts 4 s, unrelated 4, combine 0.5; permute and the links say nothing of themselves.
  EXPECT_NEAR(*prediction.deviation_s, 0.1 * std::sqrt(16 + 16 + 0.25), 1e-6);

  model.profile_deviation = 0.02;
  const Situation profiled{layer.program, two_nodes(), routing, model, small_cluster()};
  EXPECT_NEAR(*predict(profiled, sequential, {"sequential", {}}).deviation_s,
              std::hypot(0.1 * std::sqrt(32.25), 0.02 * prediction.timeline.duration_s), 1e-6);

  model.drift_deviation = 0.03;
  EXPECT_NEAR(*predict(profiled, sequential, {"sequential", {}}).deviation_s,
              std::hypot(0.1 * std::sqrt(32.25), 0.02 * prediction.timeline.duration_s,
                         0.03 * prediction.timeline.duration_s),
              1e-6);

  const Situation unknown{layer.program, two_nodes(), routing, small_costs(), small_cluster()};
  EXPECT_FALSE(predict(unknown, sequential, {"sequential", {}}).deviation_s)
      << "nothing says how far it is off";
}

}  // namespace
}  // namespace tuner::deviation_test
