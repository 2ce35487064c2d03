// The effect of expert replicas on a prediction: rows that stay, work that is shared, transfers
// beside other blocks.
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner::replicas_test {
namespace {

const moe::Groups kGroups = moe::make_groups(4, 4, {0, 0, 1, 1});

moe::Model two_moe_blocks() {
  moe::Model model = moe::test::small_model(moe::DType::f32);
  model.moe_every = 1;
  return model;
}

/// All rows to expert 0 of block 1, evenly in block 0.
moe::Routing skewed() {
  moe::Routing routing{{moe::uniform_routing(0, 4, 28, 56), moe::uniform_routing(1, 4, 28, 0)}};
  for (auto& row : routing.layers[1].tokens) row[0] = 56;
  return routing;
}

/// Experts that take long, and a fast network.
CostModel slow_experts() {
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = 1e-8;
  costs.fits["memory"].beta_s_per_unit = 1e-12;
  for (const char* link : {"all_to_all/inter_node", "all_to_all/intra_node"}) {
    costs.fits[link].alpha_s = 1e-6;
    costs.fits[link].beta_s_per_unit = 1e-9;
  }
  return costs;
}

moe::Program scheduled(const moe::Schedule& schedule) {
  return moe::apply(moe::build_iteration(two_moe_blocks(), kGroups, 0), schedule);
}

Cluster fast_cluster() {
  Cluster cluster = test::small_cluster();
  cluster.inter_node.bandwidth_bytes_per_s = cluster.intra_node.bandwidth_bytes_per_s = 1e9;
  return cluster;
}

double simulated_s(const moe::Program& program) {
  return simulate(program, kGroups, skewed(), slow_experts(), fast_cluster()).duration_s;
}

const moe::Schedule kEverywhere{"", {moe::ReplicateExperts{1, {{{0, {1, 2, 3}}}}}}};

TEST(SimulatedReplicas, ShareTheWorkOfAPopularExpertAndKeepItsRowsWhereTheyAre) {
  const moe::Program alone = scheduled({}), shared = scheduled(kEverywhere);
  EXPECT_LT(simulated_s(shared), 0.75 * simulated_s(alone));
  std::int64_t bytes = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const moe::Binding binding = moe::bind(shared, skewed(), kGroups, rank);
    for (const moe::Op& op : shared.ops) {
      if (op.layer != 1 || !moe::is_all_to_all(op)) continue;
      bytes += moe::work_of(shared, op, binding, kGroups, rank).wire_bytes;
    }
  }
  EXPECT_EQ(bytes, 0);
}

TEST(SimulatedReplicas, AddingWhatComesHomeCostsWhereItComes) {
  const moe::Program program = scheduled(kEverywhere);
  const auto costs = test::single_costs(program, kGroups, skewed(), slow_experts(), fast_cluster());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!std::holds_alternative<moe::AddReturned>(program.ops[i].kind)) continue;
    EXPECT_GT(costs[i].seconds[0], 0);
    EXPECT_EQ(costs[i].seconds[1], 0);
  }
}

/// The seconds from the first op that sends experts to the first one that follows on its rank.
double sending_s(const std::vector<int>& holders, moe::ExpertRoute route, const CostModel& costs) {
  const moe::Program program = scheduled(
      {"", {moe::ReplicateExperts{1, {{{0, holders}}, moe::RowsOfOthers::home, {}, route}}}});
  const moe::Timeline timeline = simulate(program, kGroups, skewed(), costs, fast_cluster());
  double longest_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!std::holds_alternative<moe::SendExperts>(program.ops[i].kind)) continue;
    for (const auto& spans : timeline.ranks) longest_s = std::max(longest_s, spans[i].duration_s);
  }
  return longest_s;
}

TEST(SimulatedReplicas, OfABroadcastTakeAsLongForOneRankAsForAll) {
  CostModel costs = slow_experts();
  for (const char* link : {"broadcast/inter_node", "broadcast/intra_node"}) {
    costs.fits[link].alpha_s = 1e-6;
    costs.fits[link].beta_s_per_unit = 1e-9;
  }
  using enum moe::ExpertRoute;
  const double one_s = sending_s({2}, ring, costs), all_s = sending_s({1, 2, 3}, ring, costs);
  EXPECT_NEAR(all_s, one_s, 0.01 * one_s);
  EXPECT_NEAR(sending_s({2}, unicast, costs), one_s, 0.01 * one_s);
  // Two of the three leave through the card of the node.
  EXPECT_NEAR(sending_s({1, 2, 3}, unicast, costs) - 1e-6, 2 * (one_s - 1e-6), 1e-8);
  // Without a fit of its own it takes that of the all-to-all, and the time in which the ring fills.
  const double derived_s = sending_s({1, 2, 3}, ring, slow_experts());
  EXPECT_GT(derived_s, all_s);
}

TEST(SimulatedReplicas, TransfersBesideTheBlockBeforeTakeLessThanBetweenBlocks) {
  moe::Schedule beside = kEverywhere;
  beside.decisions.push_back(
      moe::HoistTransfer{1, moe::Transfer::send, {{1, moe::ExchangePlace::dispatch, 0}}});
  beside.decisions.push_back(
      moe::HoistTransfer{1, moe::Transfer::give_back, {{1, moe::ExchangePlace::dispatch, 0}}});
  const double in_order = simulated_s(scheduled(beside));
  EXPECT_NEAR(in_order, simulated_s(scheduled(kEverywhere)), 1e-9 * in_order)
      << "on the stream of computation it does not matter where they stand";
  for (const char* kind : {"send_experts", "return_gradients"}) {
    beside.decisions.push_back(moe::StreamAssignment{kind, moe::Stream::inter_node});
  }
  const moe::Program program = scheduled(beside);
  EXPECT_LT(simulated_s(program), in_order);
  EXPECT_LE(lower_bound(program, kGroups, skewed(), slow_experts(), fast_cluster()).seconds(),
            simulated_s(program));
}

}  // namespace
}  // namespace tuner::replicas_test
