#include "tuner/planners/placement/move_costs.h"

#include <gtest/gtest.h>

#include "moe/train/move_experts.h"
#include "tests/tuner/planners/skewed_situation.h"

namespace tuner::move_costs_test {
namespace {

using test::SkewedSituation;

/// Experts 0 and 2 of eight change places: of ranks 0 and 1 of four.
moe::ExpertHomes swapped() {
  moe::ExpertHomes homes = moe::homes_in_order(8, 4);
  std::swap(homes[0], homes[2]);
  return homes;
}

TEST(MoveCosts, AreTheBytesOfParametersAndOptimizerStatesOverTheLinksThatTheyCross) {
  SkewedSituation skewed;
  // 2 matrices of 64 x 128 and biases of 192, each with two states of Adam, in single precision.
  const std::int64_t expert = 3 * 4 * (2 * 64 * 128 + 192);
  const int tensors = 3 * 4;
  for (const bool same_node : {false, true}) {
    if (same_node) {
      skewed.cluster.nodes = 2;
      skewed.cluster.ranks_per_node = 2;
      skewed.cluster.intra_node = {5e8, 2e-5};
      skewed.groups = groups_of(skewed.cluster, moe::Layout{1, 4, 1});
      skewed.program = moe::build_iteration(skewed.model, skewed.groups, 0);
    }
    const PlacedLayer layer = placed_layers(skewed.situation).front();
    const MoveCost cost =
        move_cost(skewed.situation, layer, current_homes(skewed.situation, layer), swapped());
    EXPECT_EQ(cost.experts, 2);
    EXPECT_EQ(same_node ? cost.intra_node_bytes : cost.inter_node_bytes, 2 * expert);
    EXPECT_EQ(same_node ? cost.inter_node_bytes : cost.intra_node_bytes, 0);
    EXPECT_EQ(moe::expert_traffic(skewed.program, {{layer.layer, swapped()}}).bytes, 2 * expert);
    // Each of the two ranks sends one and gets one; 1e-8 s per byte where nodes are crossed.
    double alpha_s = 0;
    for (const GroupCall& call : layer.all_to_all.calls) alpha_s = std::max(alpha_s, call.alpha_s);
    const double per_byte_s = same_node ? 1 / layer.all_to_all.intra_node_bytes_per_s : 1e-8;
    EXPECT_NEAR(cost.seconds, tensors * alpha_s + static_cast<double>(expert) * per_byte_s, 1e-9);
    EXPECT_EQ(move_cost(skewed.situation, layer, swapped(), swapped()).seconds, 0);
  }
}

TEST(MoveCosts, OfGroupsThatShareACardAddUp) {
  // Two copies of the experts on two ranks each; both groups cross the same two nodes.
  SkewedSituation apart(moe::Layout{2, 2, 1});
  apart.cluster.inter_node.bandwidth_bytes_per_s = 5e7;
  const moe::HomesByLayer to{{0, {1, 0, 0, 0, 0, 1, 1, 1}}};
  const MoveCost own_cards = move_cost(apart.situation, to);
  SkewedSituation shared(moe::Layout{2, 2, 1});
  shared.cluster = apart.cluster;
  shared.groups = moe::make_groups(moe::Layout{2, 2, 1}, {0, 1, 0, 1});
  shared.program = moe::build_iteration(shared.model, shared.groups, 0);
  const MoveCost one_card = move_cost(shared.situation, to);
  EXPECT_EQ(own_cards.experts, 2);
  EXPECT_EQ(one_card.inter_node_bytes, own_cards.inter_node_bytes);
  EXPECT_GT(one_card.seconds, 1.5 * own_cards.seconds);
}

TEST(MoveCosts, GoOnFromHomesThatAreNowOrTheProgramsAndCountOnlyWhatChanges) {
  SkewedSituation skewed;
  EXPECT_EQ(move_cost(skewed.situation, moe::HomesByLayer{}).experts, 0);
  const MoveCost there = move_cost(skewed.situation, {{1, swapped()}});
  EXPECT_EQ(there.experts, 2);
  Situation now = skewed.situation;
  now.homes_now = {{1, swapped()}};
  EXPECT_EQ(move_cost(now, {{1, swapped()}}).experts, 0);
  EXPECT_EQ(move_cost(now, moe::HomesByLayer{}).seconds, there.seconds) << "back in order";
}

}  // namespace
}  // namespace tuner::move_costs_test
