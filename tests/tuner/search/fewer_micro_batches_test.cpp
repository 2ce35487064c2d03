#include "tuner/search/fewer_micro_batches.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/tuner/search/small_setups.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/scenario.h"

/// Times of many micro-batches that are drawn from those of fewer.
namespace tuner::fewer_micro_batches_test {
namespace {

/// `count` micro-batches of a setup, in an order that is planned for `planned` of them.
struct InOrder {
  double simulated_s = 0;
  LowerBound bound;
  std::vector<PeakParts> stages;
};
InOrder in_order(std::string_view order, const TrainingSetup& setup, int count, int planned) {
  moe::Model model = test::small_setup_model(6, 2 * setup.micro_batches);
  model.choices = 2;
  const MeasuredCosts costs{test::small_setup_cluster(3, 2), {}};
  ScenarioOptions options;
  options.ranks = 6;
  options.layout = moe::to_text(setup.layout);
  const Scenario scenario =
      scenario_of(options, with_so_many_micro_batches(model, setup, count), costs);
  const Scenario of_planned =
      scenario_of(options, with_so_many_micro_batches(model, setup, planned), costs);
  const Situation situation = scenario.situation();
  const moe::Schedule schedule = planner_named(order).plan(of_planned.situation(), {});
  const moe::Program program = moe::apply(scenario.program, schedule);
  return {simulated_s(situation, schedule),
          lower_bound(program, scenario.groups, scenario.routing, scenario.costs, scenario.cluster),
          stage_parts(program, scenario.groups, routings_of(situation))};
}

TEST(FewerMicroBatches, GiveTheTimeTheBoundAndTheMemoryOfAll) {
  const TrainingSetup setup{{1, 2, 1, 1, 3}, moe::BatchPer::rank, 32};
  for (const std::string_view order : {"sequential", "gpipe", "one_f_one_b", "zero_bubble"}) {
    SCOPED_TRACE(order);
    const auto fewer = fewer_micro_batches(setup, planner_named(order), kMostWholeOps);
    ASSERT_TRUE(fewer.has_value());
    const InOrder few = in_order(order, setup, fewer->few, fewer->few);
    const InOrder more = in_order(order, setup, fewer->more, fewer->few);
    const InOrder all = in_order(order, setup, setup.micro_batches, fewer->few);
    EXPECT_NEAR(seconds_of_all(setup, *fewer, few.simulated_s, more.simulated_s), all.simulated_s,
                0.01 * all.simulated_s);
    const LowerBound bound = bound_of_all(setup, *fewer, few.bound, more.bound);
    EXPECT_LE(bound.seconds(), all.bound.seconds() * (1 + 1e-9));
    EXPECT_GE(bound.seconds(), 0.95 * all.bound.seconds());
    EXPECT_EQ(bound.where, all.bound.where);
    if (!fewer->adds_memory) continue;  // search_of_large_programs_test.cpp
    for (std::size_t stage = 0; stage < all.stages.size(); ++stage) {
      SCOPED_TRACE(stage);
      const auto planned = static_cast<double>(all.stages[stage].all());
      const PeakParts peak = peak_of_all(setup, *fewer, few.stages[stage], more.stages[stage]);
      // Zero bubble lets the number of micro-batches under way grow for long.
      EXPECT_NEAR(static_cast<double>(peak.all()), planned,
                  (order == "zero_bubble" ? 0.1 : 0.02) * planned);
    }
  }
}

TEST(FewerMicroBatches, AreNotUsedOfSmallPrograms) {
  const TrainingSetup setup{{1, 2, 1, 1, 3}, moe::BatchPer::rank, 16};
  const Planner& order = planner_named("one_f_one_b");
  EXPECT_FALSE(fewer_micro_batches(setup, order, kMostWholeOps / 16));
  EXPECT_TRUE(fewer_micro_batches(setup, order, kMostWholeOps / 16 + 1));
  EXPECT_EQ(fewer_micro_batches(setup, order, kMostWholeOps)->few, 5);
  EXPECT_EQ(fewer_micro_batches(setup, order, kMostWholeOps)->more, 8);
}

}  // namespace
}  // namespace tuner::fewer_micro_batches_test
