#include "tuner/machine/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "db/console/statistics.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"
#include "tuner/study/prediction.h"

namespace tuner::deviation_test {
namespace {

using namespace test;

TEST(Deviation, OfSchedulesIsThatOfTheirMedians) {
  const std::vector<RunErrors> runs{{1, 0, {0.1, -5, 0.1}}, {2, 0, {-0.2}}, {3, 0, {9}}};
  EXPECT_NEAR(deviation_of(runs).value(), 1.4826 * 0.2, 1e-12) << "one wild schedule is left out";
  EXPECT_EQ(deviation_of({}), std::nullopt);
}

TEST(Deviation, OfMomentsIsThatOfTheirDifferencesWithoutSchedules) {
  // Schedules are off by 0.1 and -0.1, and a moment by 0.04.
  std::vector<RunErrors> runs{{1, 0, {0.1}}, {2, 0, {-0.1}}};
  const double of_schedules = deviation_of(runs).value();
  runs.push_back({1, 1, {0.14}});
  runs.push_back({2, 1, {-0.06}});
  runs.push_back({3, 2, {0.1}});  // nothing tells its schedule from its moment
  EXPECT_NEAR(std::hypot(of_schedules, 1.4826 * 0.04 / std::sqrt(2.0)), deviation_of(runs).value(),
              0.01);
}

/// The share of later trials that are measured within the stated deviation, and within twice it.
TEST(Deviation, CoversLaterTrialsAboutAsOftenAsItClaims) {
  constexpr int kSchedules = 7, kDraws = 4000;
  for (const int moments : {1, 2, 3, 6}) {
    const double pace = moments == 1 ? 0 : 0.05;  // one moment tells nothing of others
    double one = 0, two = 0;
    for (unsigned seed = 0; seed < kDraws; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> of_schedule(0, 0.03), normal(0, 1);
      std::vector<double> paces;
      for (int moment = 0; moment < moments; ++moment) paces.push_back(pace * normal(random));
      const double predicted = db::median(paces);
      std::vector<RunErrors> runs;
      for (int schedule = 0; schedule < kSchedules; ++schedule) {
        const double term = of_schedule(random);
        for (int moment = 0; moment < moments; ++moment) {
          runs.push_back({schedule, moment, {term + predicted - paces[moment]}});
        }
      }
      const double off =
          std::abs(pace * (normal(random) + normal(random)) / 2 + of_schedule(random) - predicted);
      const double deviation = deviation_of(runs).value();
      one += off <= deviation ? 1 : 0;
      two += off <= 2 * deviation ? 1 : 0;
    }
    EXPECT_NEAR(one / kDraws, 0.68, 0.1) << moments;
    EXPECT_GT(two / kDraws, 0.82) << moments;
  }
}

TEST(Deviation, OfAPredictionIsThatOfItsCosts) {
  const auto layer = small_layer(true);
  CostModel model = small_costs();
  const moe::Routing routing = small_routing({{1000, 1000}, {1000, 1000}});
  const Situation situation{layer.program, two_nodes(), routing, model, small_cluster()};
  const Planner& sequential = planner_named("sequential");
  EXPECT_FALSE(predict(situation, sequential, {"sequential", {}}).deviation_s)
      << "nothing says how far it is off";
  model.deviation = 0.02;
  const Prediction prediction = predict(situation, sequential, {"sequential", {}});
  EXPECT_NEAR(*prediction.deviation_s, 0.02 * prediction.timeline.duration_s, 1e-12);
}

}  // namespace
}  // namespace tuner::deviation_test
