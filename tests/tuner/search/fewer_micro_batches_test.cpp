#include "tuner/search/fewer_micro_batches.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/scenario.h"

/// Times of many micro-batches that are drawn from those of fewer.
namespace tuner::fewer_micro_batches_test {
namespace {

/// The simulated time of `count` micro-batches of a setup with three stages, in an order.
double simulated(std::string_view order, const TrainingSetup& setup, int count) {
  moe::Model model;
  model.sequence_length = 16;
  model.vocabulary = 64;
  model.d_model = 32;
  model.d_hidden = 96;
  model.heads = 4;
  model.blocks = 6;
  model.experts = 4;
  model.choices = 2;
  model.global_batch = 2 * setup.micro_batches;
  MeasuredCosts costs;
  Cluster& cluster = costs.costed.cluster;
  cluster.nodes = 3;
  cluster.ranks_per_node = 2;
  cluster.inter_node = {1e9, 1e-5};
  cluster.intra_node = {1e10, 1e-6};
  for (const char* unit : {"gemm", "memory"}) {
    costs.costed.costs.fits[unit].alpha_s = 1e-6;
    costs.costed.costs.fits[unit].beta_s_per_unit = 1e-11;
  }
  ScenarioOptions options;
  options.ranks = 6;
  options.layout = moe::to_text(setup.layout);
  const Scenario scenario =
      scenario_of(options, with_so_many_micro_batches(model, setup, count), costs);
  return simulated_s(scenario.situation(), planner_named(order).plan(scenario.situation(), {}));
}

TEST(FewerMicroBatches, GiveTheTimeOfAll) {
  const TrainingSetup setup{{1, 2, 1, 1, 3}, moe::BatchPer::rank, 16};
  for (const std::string_view order : {"gpipe", "one_f_one_b", "zero_bubble"}) {
    SCOPED_TRACE(order);
    const auto fewer = fewer_micro_batches(setup, planner_named(order).passes, kMostWholeOps);
    ASSERT_TRUE(fewer.has_value());
    const double few_s = simulated(order, setup, fewer->few);
    const double more_s = simulated(order, setup, fewer->more);
    const double all_s = simulated(order, setup, setup.micro_batches);
    EXPECT_NEAR(seconds_of_all(setup, *fewer, few_s, more_s), all_s, 0.01 * all_s);
  }
}

TEST(FewerMicroBatches, AreNotUsedOfSmallPrograms) {
  const TrainingSetup setup{{1, 2, 1, 1, 3}, moe::BatchPer::rank, 16};
  const Passes passes = Passes::filled_and_drained;
  EXPECT_FALSE(fewer_micro_batches(setup, passes, kMostWholeOps / 16));
  EXPECT_TRUE(fewer_micro_batches(setup, passes, kMostWholeOps / 16 + 1));
  EXPECT_EQ(fewer_micro_batches(setup, passes, kMostWholeOps)->few, 3);
  EXPECT_EQ(fewer_micro_batches(setup, passes, kMostWholeOps)->more, 6);
}

}  // namespace
}  // namespace tuner::fewer_micro_batches_test
