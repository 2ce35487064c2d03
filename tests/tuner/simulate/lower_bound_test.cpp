#include "tuner/simulate/lower_bound.h"

#include <gtest/gtest.h>

#include "tests/tuner/small_program.h"

namespace tuner::lower_bound_test {
namespace {

using namespace test;

/// Two ranks on two nodes: rank 1 gets 3000 rows, rank 0 gets 1000. Dispatch and return move 1500
/// rows one way and 500 the other: 1.5 s. permute 1, experts 2 and 6, combine 0.5, on one stream.
struct Uneven {
  SmallLayer layer = small_layer();
  moe::Groups groups = two_nodes();
  moe::Routing routing = small_routing({{500, 1500}, {500, 1500}});
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();

  LowerBound bound() const { return lower_bound(layer.program, groups, routing, costs, cluster); }
};

TEST(LowerBound, CountsTheWorkOfTheBusiestStreamOfTheBusiestRank) {
  const Uneven c;
  EXPECT_NEAR(c.bound().stream_s, 1 + 1.5 + 6 + 1.5 + 0.5, 1e-9);
}

TEST(LowerBound, CollectivesCarryAChainFromTheRankThatIsLateToTheOthers) {
  const LowerBound bound = Uneven().bound();
  EXPECT_NEAR(bound.chain_s, kExchange_s + 1 + 1.5 + 6 + 1.5 + 0.5, 1e-9);
  EXPECT_EQ(bound.where, "chain to op 6 of rank 0") << "whose own experts take 2 s";
  EXPECT_EQ(bound.seconds(), bound.chain_s);
}

TEST(LowerBound, WorkBesideTheChainCountsOnItsStream) {
  Uneven c;
  c.layer = small_layer(true);  // 4 s that nothing waits for
  EXPECT_NEAR(c.bound().chain_s, kExchange_s + 10.5, 1e-9);
  EXPECT_NEAR(c.bound().stream_s, 14.5, 1e-9);
  EXPECT_EQ(c.bound().where, "rank 1 compute");
  for (moe::Op& op : c.layer.program.ops) {
    if (op.name == "unrelated") op.stream = moe::Stream::intra_node;
  }
  EXPECT_NEAR(c.bound().stream_s, 10.5, 1e-9) << "on a stream of its own it bounds nothing";
}

TEST(LowerBound, ACardCarriesWhatAllRanksOfItsNodeSend) {
  Uneven c;
  c.groups = moe::make_groups(4, 4, {0, 0, 1, 1});
  c.routing = {
      {moe::LayerRouting{0, 4, {{0, 0, 1000, 0}, {0, 0, 0, 1000}, {0, 0, 0, 0}, {0, 0, 0, 0}}}}};
  c.costs.fits["permute"].alpha_s = c.costs.fits["combine"].alpha_s = 0;
  c.costs.fits["gelu"].beta_s_per_unit = 0;
  // Each rank of node 0 sends 1000 rows, which come back: 1 s and 1 s of its own, 2 s of the card
  // in each direction. Of the counts a rank sends 16 bytes to each of the other node's two.
  const LowerBound bound = c.bound();
  EXPECT_NEAR(bound.link_s, 2 + 4 * 16e-6, 1e-9);
  EXPECT_NEAR(bound.chain_s, 1 + 1 + 2 * 16e-6, 1e-9);
  EXPECT_EQ(bound.where, "node 0 out");
}

TEST(LowerBound, ALinkWithinANodeIsEachRanksOwn) {
  Uneven c;
  c.groups = moe::make_groups(2, 2, {0, 0});
  c.cluster.intra_node = {2e6, 0};
  // 1500 rows there and 500 back from rank 0, and 16 bytes of counts.
  EXPECT_NEAR(c.bound().link_s, 2e6 / 2e6 + 16 / 2e6, 1e-9);
}

TEST(LowerBound, ALinkCountsWhatARankSendsAsWellAsWhatItReceives) {
  Uneven c;
  c.groups = moe::make_groups(3, 3, {0, 0, 0});
  c.routing = {{moe::LayerRouting{0, 3, {{0, 1000, 1000}, {0, 0, 0}, {0, 0, 0}}}}};
  c.layer.program.ops.resize(4);  // up to the dispatch: 2000 rows out of rank 0, 1000 into others
  c.cluster.intra_node = {2e6, 0};
  EXPECT_NEAR(c.bound().link_s, 1 + 2 * 16 / 2e6, 1e-9);
  c.routing.layers[0].tokens = {{0, 0, 0}, {2000, 0, 0}, {1000, 0, 0}};
  EXPECT_NEAR(c.bound().link_s, 1.5 + 2 * 16 / 2e6, 1e-9);
}

TEST(LowerBound, OfOneRankIsItsOwnWork) {
  Uneven c;
  c.groups = moe::make_groups(1, 1);
  c.routing = small_routing({{500, 0}});
  c.cluster.inter_node = c.cluster.intra_node = {};
  EXPECT_EQ(c.bound().link_s, 0);
  EXPECT_NEAR(c.bound().seconds(), 1 + 1 + 0.5, 1e-9);
}

TEST(LowerBound, OfNothingIsNothing) {
  Uneven c;
  c.layer.program.ops.clear();
  EXPECT_EQ(c.bound().seconds(), 0);
  EXPECT_EQ(c.bound().where, "");
}

}  // namespace
}  // namespace tuner::lower_bound_test
