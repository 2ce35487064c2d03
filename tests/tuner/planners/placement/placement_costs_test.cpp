#include "tuner/planners/placement/placement_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/sequential/sequential.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::placement_costs_test {
namespace {

using test::SkewedSituation;
using ::testing::SizeIs;

/// Seconds of the ops of the layers' pipelines that `wanted` takes.
template <class Wanted>
double seconds_in_pipelines(const Situation& situation, const Wanted& wanted) {
  const auto seconds = alone_seconds(situation, costs_of(situation, situation.program));
  double sum_s = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const moe::Op& op = situation.program.ops[i];
    if (belongs_to_pipeline(situation.program, op) && wanted(op)) sum_s += seconds[i];
  }
  return sum_s;
}

TEST(PlacementCosts, AreThoseOfTheOpsWithAllExpertsAtHome) {
  for (const int micro_batches : {1, 2}) {
    const SkewedSituation skewed(moe::Layout{1, 4, 1}, "zipf:1.2", micro_batches);
    const auto layers = placed_layers(skewed.situation);
    ASSERT_THAT(layers, SizeIs(3));
    double exchanges_s = 0, experts_s = 0;
    for (const PlacedLayer& layer : layers) {
      const PlacedLoads loads = placed_loads(layer.routing, skewed.groups, {});
      exchanges_s += 4 * all_to_all_s(layer.costs, std::ranges::max(loads.received));
      experts_s += forward_experts_s(layer.costs, std::ranges::max(loads.computed));
      EXPECT_GT(layer.costs.exchange.startup_s, 0);
      EXPECT_GT(layer.costs.experts.startup_s, 0);
    }
    EXPECT_NEAR(exchanges_s,
                seconds_in_pipelines(skewed.situation,
                                     [](const moe::Op& op) { return moe::is_communication(op); }),
                1e-9 * exchanges_s);
    EXPECT_NEAR(experts_s,
                seconds_in_pipelines(skewed.situation,
                                     [](const moe::Op& op) {
                                       return !moe::is_communication(op) &&
                                              op.phase == moe::Phase::forward;
                                     }),
                1e-9 * experts_s);
    EXPECT_NEAR(seconds_beside_layers(skewed.situation) +
                    seconds_in_pipelines(skewed.situation, [](const moe::Op&) { return true; }),
                sequential_paper_seconds(skewed.situation, {}), 1e-9);
  }
}

TEST(PlacementCosts, TransfersAreOneAfterAnotherOfAllThatAnExpertHas) {
  const SkewedSituation skewed;
  const auto layers = placed_layers(skewed.situation);
  const ProProphetCosts& costs = layers.front().costs;
  ASSERT_THAT(costs.trans_s, SizeIs(4));
  // Two matrices and their biases, at the 1e-8 s a byte of the fit, which the card allows half of.
  const double bytes = 4.0 * (64 * 128 + 128 + 128 * 64 + 64);
  EXPECT_DOUBLE_EQ(costs.trans_s[0], 0);
  EXPECT_NEAR(costs.trans_s[1], 3e-4 + bytes * 1e-8, 1e-12);
  EXPECT_NEAR(costs.trans_s[3], 3e-4 + 3 * bytes * 1e-8, 1e-12);
  EXPECT_EQ(costs.agg_s, costs.trans_s);
}

TEST(PlacementCosts, TransfersHideUnderWhatComputesBetweenLayersOfExperts) {
  const SkewedSituation skewed;
  const auto seconds = alone_seconds(skewed.situation, costs_of(skewed.situation, skewed.program));
  // The second layer's: from the combine of the first to its own dispatch, and backward the other
  // way round.
  double forward_s = 0, backward_s = 0;
  bool between = false;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const moe::Op& op = skewed.program.ops[i];
    const auto direction = moe::direction_of(op);
    const bool forward = op.phase == moe::Phase::forward;
    if (direction == moe::Direction::combine && op.layer == (forward ? 0 : 1)) between = true;
    if (direction == moe::Direction::dispatch) between = false;
    if (!between || moe::is_communication(op) || belongs_to_pipeline(skewed.program, op)) continue;
    if (moe::comes_once(op)) break;
    (forward ? forward_s : backward_s) += seconds[i];
  }
  const auto layers = placed_layers(skewed.situation);
  EXPECT_NEAR(layers[1].costs.fnec_s, forward_s, 1e-12);
  EXPECT_NEAR(layers[1].costs.bnec_s, backward_s, 1e-12);
  EXPECT_GT(backward_s, forward_s);
  EXPECT_GT(layers[0].costs.fnec_s, 0);  // tokens, and the first attention
  EXPECT_GT(layers[0].costs.bnec_s, 0);
}

}  // namespace
}  // namespace tuner::placement_costs_test
