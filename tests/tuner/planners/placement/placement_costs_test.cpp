#include "tuner/planners/placement/placement_costs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string_view>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/rows/random_placement.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/placement/transfer_loads.h"
#include "tuner/planners/planners.h"
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
                planner_named("sequential").paper_seconds(skewed.situation, {}), 1e-9);
  }
}

/// The seconds of the ops that move experts of a scheduled Program, by kind.
std::map<std::string_view, double> transfer_seconds(const Situation& situation,
                                                    const moe::Program& program) {
  const auto seconds = alone_seconds(situation, costs_of(situation, program));
  std::map<std::string_view, double> of_kind;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (moe::moves_experts(program.ops[i])) of_kind[moe::kind_name(program.ops[i])] = seconds[i];
  }
  return of_kind;
}

TEST(PlacementCosts, TransfersAreWhatTheSimulationTakesForThem) {
  std::mt19937 random(3);
  for (const moe::Layout& layout :
       {moe::Layout{1, 4, 1}, moe::Layout{2, 2, 1}, moe::Layout{1, 2, 2}, moe::Layout{2, 4, 1}}) {
    for (const int ranks_per_node : {1, 2}) {
      for (const bool own_fits : {false, true}) {
        SkewedSituation skewed(layout);
        skewed.cluster.nodes = moe::rank_count(layout) / ranks_per_node;
        skewed.cluster.ranks_per_node = ranks_per_node;
        skewed.cluster.intra_node = {4e8, 1e-5};
        skewed.groups = groups_of(skewed.cluster, layout);
        skewed.program = moe::build_iteration(skewed.model, skewed.groups, 0);
        if (own_fits) {
          double alpha_s = 0;
          for (const char* own : {"send_experts", "broadcast", "reduce"}) {
            LinearFit& fit = skewed.costs.fits[fmt::format("{}/inter_node", own)];
            fit.alpha_s = alpha_s += 1e-3;
            fit.beta_s_per_unit = 1e-5 * alpha_s;
          }
        }
        for (int drawn = 0; drawn < 20; ++drawn) {
          moe::ExpertPlacement placement = moe::test::random_placement(random, 8, layout.expert);
          if (random() % 2 == 0) placement.route = moe::ExpertRoute::ring;
          const auto simulated = transfer_seconds(
              skewed.situation,
              moe::apply(skewed.program, {"", {moe::ReplicateExperts{1, placement}}}));
          const PlacedLayer layer = placed_layers(skewed.situation).at(1);
          const auto [trans_s, agg_s] = transfer_times(layer.costs, placement, layer.rows.homes);
          EXPECT_NEAR(trans_s, simulated.at("send_experts"), 1e-9 * trans_s) << to_text(layout);
          EXPECT_NEAR(agg_s, simulated.at("return_gradients"), 1e-9 * agg_s) << to_text(layout);
        }
      }
    }
  }
}

TEST(PlacementCosts, OfAnExpertOnARingHardlyDependOnHowManyHoldIt) {
  SkewedSituation skewed;
  const PlacedLayer layer = placed_layers(skewed.situation).front();
  const auto trans_s = [&](moe::ExpertRoute route, std::vector<int> holders) {
    const moe::ExpertPlacement placement{
        {{0, std::move(holders)}}, moe::RowsOfOthers::home, {}, route};
    return transfer_times(layer.costs, placement, layer.rows.homes).trans_s;
  };
  // Two matrices and their biases, at the 1e-8 s a byte of the fit; the card is faster.
  const double bytes = 4.0 * (64 * 128 + 128 + 128 * 64 + 64);
  EXPECT_NEAR(trans_s(moe::ExpertRoute::unicast, {1}), 3e-4 + bytes * 1e-8, 1e-12);
  EXPECT_NEAR(trans_s(moe::ExpertRoute::unicast, {1, 2, 3}), 3e-4 + 3 * bytes * 1e-8, 1e-12);
  EXPECT_DOUBLE_EQ(trans_s(moe::ExpertRoute::ring, {1}), trans_s(moe::ExpertRoute::unicast, {1}));
  // Tensors as short as these pass whole: each of two members waits for all of them.
  EXPECT_NEAR(trans_s(moe::ExpertRoute::ring, {1, 2, 3}), 3e-4 + 3 * bytes * 1e-8, 1e-12);
  skewed.costs.fits["broadcast/inter_node"] = skewed.costs.fits["all_to_all/inter_node"];
  const PlacedLayer measured = placed_layers(skewed.situation).front();
  EXPECT_NEAR(transfer_times(measured.costs, {{{0, {1, 2, 3}}}, {}, {}, moe::ExpertRoute::ring},
                             layer.rows.homes)
                  .trans_s,
              3e-4 + bytes * 1e-8, 1e-12);
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
