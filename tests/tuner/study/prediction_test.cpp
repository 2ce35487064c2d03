#include "tuner/study/prediction.h"

#include <gtest/gtest.h>

#include "moe/errors.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"

namespace tuner::prediction_test {
namespace {

using namespace test;

struct PredictionTest : ::testing::Test {
  moe::Program program = small_layer().program;
  moe::Groups groups = two_nodes();
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();
  const Planner& sequential = *parse_planner("sequential").planner;
  const moe::Schedule schedule{"sequential", {}};

  /// Both ranks send that many rows to each of the two experts.
  static moe::Routing rows(std::int64_t count) {
    return small_routing({{count, count}, {count, count}});
  }
  Prediction of(const std::vector<moe::Routing>& routings) const {
    Situation situation{program, groups, routings.front(), costs, cluster};
    situation.routings = routings;
    return predict(situation, sequential, schedule);
  }
};

TEST_F(PredictionTest, OfManyRoutingsTheTimelineIsTheMedianOneAndThePeakTheHighest) {
  const Prediction one = of({rows(1)}), two = of({rows(2)}), nine = of({rows(9)});
  ASSERT_LT(one.timeline.duration_s, two.timeline.duration_s);
  ASSERT_LT(two.peak_bytes, nine.peak_bytes);
  const Prediction all = of({rows(9), rows(1), rows(2)});
  EXPECT_EQ(all.timeline.duration_s, two.timeline.duration_s);
  EXPECT_EQ(all.routing.layers[0].tokens, rows(2).layers[0].tokens);
  EXPECT_EQ(all.bound.seconds(), two.bound.seconds());
  EXPECT_EQ(all.peak_bytes, nine.peak_bytes);
  // Of an even number the shorter of the middle two.
  EXPECT_EQ(of({rows(9), rows(2)}).timeline.duration_s, two.timeline.duration_s);
}

TEST_F(PredictionTest, OfUnequalRanksIsTheMedianOverTheirSlowdowns) {
  const double even_s = of({rows(2)}).timeline.duration_s;
  costs.slowdowns = {{1.5, 0.5}};
  const double unequal_s = of({rows(2)}).timeline.duration_s;
  EXPECT_GT(unequal_s, 1.01 * even_s) << "the other rank waits";
  costs.slowdowns = {costs.slowdowns[0], {1, 1}, {9, 1}};
  EXPECT_EQ(of({rows(2)}).timeline.duration_s, unequal_s);
  // Each of more routings is judged with one of them.
  costs.slowdowns.resize(1);
  const Prediction nine = of({rows(9)});
  EXPECT_EQ(of({rows(1), rows(9), rows(9)}).timeline.duration_s, nine.timeline.duration_s);
  EXPECT_GT(nine.bound.seconds(), 0);
  EXPECT_LE(nine.bound.seconds(), nine.timeline.duration_s);
  // The slowdowns of three ranks say nothing about two.
  costs.slowdowns = {{2, 2, 2}};
  EXPECT_EQ(of({rows(2)}).timeline.duration_s, even_s);
}

TEST_F(PredictionTest, StaysAboveItsLowerBound) {
  const Prediction prediction = of({rows(3)});
  EXPECT_GT(prediction.bound.seconds(), 0);
  EXPECT_LE(prediction.bound.seconds(), prediction.timeline.duration_s);
}

TEST_F(PredictionTest, RefusesWhatIsNotLegal) {
  const moe::Schedule wrong{"x", {moe::PipelineSplit{7, moe::Phase::forward, 2}}};
  const Situation situation{program, groups, rows(1), costs, cluster};
  EXPECT_THROW(predict(situation, sequential, wrong), moe::Refusal);
}

}  // namespace
}  // namespace tuner::prediction_test
