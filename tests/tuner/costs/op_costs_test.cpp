#include "tuner/costs/op_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/passes/schedule.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tuner/costs/call_loads.h"

namespace tuner::op_costs_test {
namespace {

using namespace test;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

enum Position : std::size_t { begin, exchange, permute, dispatch, experts, back, combine };

/// Four ranks on two nodes, an expert on each. A row is 1000 bytes.
struct FourRanks {
  SmallLayer layer = small_layer();
  moe::Groups groups = moe::make_groups(4, 4, {0, 0, 1, 1});
  moe::Routing routing{
      {moe::LayerRouting{0, 4, {{5, 2, 0, 4}, {1, 5, 3, 0}, {0, 0, 5, 1}, {2, 0, 1, 5}}}}};
  CostModel costs = small_costs();
  Cluster cluster = [] {
    Cluster c = small_cluster();
    c.ranks_per_node = 2;
    c.inter_node = {1e6, 0.5};
    c.intra_node = {1e5, 0.25};
    return c;
  }();

  std::vector<OpCost> all() const {
    return single_costs(layer.program, groups, routing, costs, cluster);
  }
  OpCost of(Position op) const { return all().at(op); }
  std::vector<double> busy(Position op) const {
    const OpCost cost = of(op);
    return member_seconds(cost, cost.calls.at(0), cluster);
  }
};

std::vector<std::vector<std::int64_t>> matrix(const GroupCall& call, int ranks) {
  std::vector<std::vector<std::int64_t>> bytes(static_cast<std::size_t>(ranks));
  for (auto& row : bytes) row.resize(bytes.size());
  for (const Transfer& t : call.transfers) {
    bytes[static_cast<std::size_t>(t.from)][static_cast<std::size_t>(t.to)] += t.bytes;
  }
  return bytes;
}

TEST(OpCosts, APointedFitIsReadAtTheBytesOfTheBusiestRank) {
  FourRanks c;
  c.groups.card_of = {0, 1, 2, 3};
  c.cluster.inter_node.bandwidth_bytes_per_s = 1e12;  // the card lets all pass
  // Rank 0 sends 4 rows to the other node, all of them to rank 3.
  c.costs.fits["all_to_all/inter_node"] = fit_points({{1000, 1}, {3000, 2}, {5000, 8}}, "byte");
  const OpCost cost = c.of(dispatch);
  EXPECT_DOUBLE_EQ(cost.calls.at(0).alpha_s, 0.5);
  EXPECT_DOUBLE_EQ(cost.inter_node_bytes_per_s, 4000 / (5 - 0.5));
  EXPECT_DOUBLE_EQ(c.busy(dispatch).at(3), 5);
}

TEST(OpCosts, PointsCountWhereSmallSizesTakeAsLong) {
  FourRanks c;
  c.groups.card_of = {0, 1, 2, 3};
  c.cluster.inter_node.bandwidth_bytes_per_s = 1e4;  // 4000 bytes: 0.4 s
  for (const SizeTime& last : {SizeTime{5000, 1}, SizeTime{5000, 1.05}}) {
    const LinearFit points = fit_points({{1000, 1}, last}, "byte");
    c.costs.fits["all_to_all/inter_node"] = points;
    EXPECT_DOUBLE_EQ(c.busy(dispatch).at(3), seconds_of(points, 1, 4000));
    EXPECT_DOUBLE_EQ(c.of(dispatch).inter_node_bytes_per_s, 1e4);
  }
}

TEST(OpCosts, AnExchangeMovesWhatTheRoutingSaysAndTheReturnTheSameBack) {
  const FourRanks c;
  const OpCost there = c.of(dispatch), home = c.of(back);
  ASSERT_EQ(there.calls.size(), 1u);
  EXPECT_EQ(there.calls[0].transfers.size(), 7u) << "nothing to oneself, nothing without rows";
  EXPECT_THAT(matrix(there.calls[0], 4),
              ElementsAre(ElementsAre(0, 2000, 0, 4000), ElementsAre(1000, 0, 3000, 0),
                          ElementsAre(0, 0, 0, 1000), ElementsAre(2000, 0, 1000, 0)));
  EXPECT_THAT(matrix(home.calls[0], 4),
              ElementsAre(ElementsAre(0, 1000, 0, 2000), ElementsAre(2000, 0, 0, 0),
                          ElementsAre(0, 3000, 0, 1000), ElementsAre(4000, 0, 1000, 0)));
}

TEST(OpCosts, ARelayTakesTheRowsOfItsNodeThatItsCounterpartGets) {
  FourRanks c;
  c.layer.program.groups = c.groups;
  c.layer.program =
      moe::apply(c.layer.program, moe::Exchange{0, moe::Phase::forward, {}, moe::Route::two_d, 0});
  const OpCost in_node = c.of(dispatch);
  ASSERT_EQ(in_node.calls.size(), 2u);
  // What rank 0 sends to 1 and 3 goes to rank 1, and so on.
  EXPECT_THAT(matrix(in_node.calls[0], 4),
              ElementsAre(ElementsAre(0, 6000, 0, 0), ElementsAre(4000, 0, 0, 0),
                          ElementsAre(0, 0, 0, 0), ElementsAre(0, 0, 0, 0)));
  const OpCost across = c.all().at(dispatch + 1);
  ASSERT_EQ(across.calls.size(), 2u);
  EXPECT_THAT(across.call_of, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(matrix(across.calls[0], 4),
              ElementsAre(ElementsAre(0, 0, 3000, 0), ElementsAre(0, 0, 0, 0),
                          ElementsAre(2000, 0, 0, 0), ElementsAre(0, 0, 0, 0)));
  EXPECT_EQ(across.calls[1].transfers.at(0).bytes, 4000) << "rank 1 has all 4 rows to expert 3";
}

TEST(OpCosts, GroupsThatCommunicateAtOnceShareTheCardsOfTheirNodes) {
  FourRanks c;
  c.layer.program.groups = c.groups;
  c.layer.program =
      moe::apply(c.layer.program, moe::Exchange{0, moe::Phase::forward, {}, moe::Route::two_d, 0});
  const OpCost across = c.all().at(dispatch + 1);
  // Ranks 0 and 1 send 3000 and 4000 bytes to the other node, each in a group of its own.
  EXPECT_DOUBLE_EQ(alone_seconds(across, c.groups, c.cluster), across.calls[0].alpha_s + 0.007);
}

/// The bytes of a collective among two nodes of two GPUs with a card each.
RankBytes bytes_of_each_gpu(const moe::OpKind& kind, std::int64_t rows_in, std::int64_t rows_out) {
  FourRanks c;
  moe::ProgramBuilder build(moe::DType::f32);
  const auto in = build.activation("in", rows_in, kColumns);
  const auto out = rows_in == rows_out ? in : build.activation("out", rows_out, kColumns);
  build.op(kind, "collective", {in}, {out}, 0, moe::Phase::backward);
  c.layer.program = build.program;
  c.cluster.cards_per_node = 2;
  c.cluster.device = "cuda";
  c.groups = groups_of(c.cluster, moe::Layout{1, 4, 1});
  const auto costs = single_costs(c.layer.program, c.groups, {}, c.costs, c.cluster);
  const std::vector<RankBytes> bytes = member_bytes(costs.at(0).calls.at(0));
  for (const RankBytes& one : bytes) {
    EXPECT_EQ(one.out_between, bytes[0].out_between);
    EXPECT_EQ(one.in_between, bytes[0].out_between);
    EXPECT_EQ(one.in_within, one.out_within);
  }
  return bytes.at(0);
}

TEST(OpCosts, RingsOfGpusLeaveANodeByAllItsCards) {
  const RankBytes reduced = bytes_of_each_gpu(moe::AllReduce{moe::GroupKind::stage}, 8, 8);
  EXPECT_EQ(reduced.out_between, 6000) << "2 * 3 / 4 of 8 rows on two rings";
  EXPECT_EQ(reduced.out_within, 6000);
  const RankBytes gathered = bytes_of_each_gpu(moe::AllGather{moe::GroupKind::stage}, 2, 8);
  EXPECT_EQ(gathered.out_between, 3000) << "the 6 rows of others on two rings";
  EXPECT_EQ(gathered.out_within, 3000);
  const RankBytes scattered = bytes_of_each_gpu(moe::ReduceScatter{moe::GroupKind::stage}, 8, 2);
  EXPECT_EQ(scattered.out_between, 3000);
}

TEST(OpCosts, RingsOfGpusUseAllPairsOfAMesh) {
  FourRanks c;
  moe::ProgramBuilder build(moe::DType::f32);
  const auto gradient = build.activation("gradient", 12, kColumns);
  build.op(moe::AllReduce{moe::GroupKind::stage}, "all_reduce", {gradient}, {gradient}, 0,
           moe::Phase::backward);
  c.cluster.nodes = 1;
  c.cluster.ranks_per_node = 4;
  c.cluster.device = "cuda";
  c.cluster.mesh = true;
  c.groups = groups_of(c.cluster, moe::Layout{1, 4, 1});
  const auto costs = single_costs(build.program, c.groups, {}, c.costs, c.cluster);
  EXPECT_THAT(matrix(costs.at(0).calls.at(0), 4).at(0), ElementsAre(0, 6000, 6000, 6000));
  // 18 kB over the link of 100 kB/s, as with a switch: each pair has a third of both.
  EXPECT_DOUBLE_EQ(alone_seconds(costs.at(0), c.groups, c.cluster), 0.25 + 0.18);
}

TEST(OpCosts, AGroupOfOneCostsWhatWasMeasuredOfItWithoutALink) {
  FourRanks c;
  c.layer.program.groups = c.groups;
  c.layer.program =
      moe::apply(c.layer.program, moe::Exchange{0, moe::Phase::forward, {}, moe::Route::one_d, 0});
  c.costs.fits["exchange_across_nodes/inter_node"].alpha_s = 2;
  c.costs.fits["exchange_across_nodes/intra_node"].alpha_s = 1;
  const OpCost across = c.all().at(dispatch + 1);
  EXPECT_EQ(across.calls.at(0).ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(across.calls.at(0).alpha_s, 2);
  EXPECT_EQ(across.calls.at(1).ranks, (std::vector<int>{1}));
  EXPECT_EQ(across.calls.at(1).alpha_s, 1);

  // Measurements between nodes alone say nothing of a rank by itself.
  c.costs.fits.erase("exchange_across_nodes/intra_node");
  EXPECT_EQ(c.all().at(dispatch + 1).calls.at(0).alpha_s, 2);
  EXPECT_EQ(c.all().at(dispatch + 1).calls.at(1).alpha_s, 0);
}

TEST(OpCosts, ComputationOnRoutedRowsCostsEachRankItsOwn) {
  const FourRanks c;
  const OpCost cost = c.of(experts);
  // Received: 8, 7, 9 and 10 rows; 2 s for 1000.
  EXPECT_THAT(cost.seconds,
              ElementsAre(DoubleEq(0.016), DoubleEq(0.014), DoubleEq(0.018), DoubleEq(0.020)));
  EXPECT_EQ(cost.activity, moe::Activity::computation);
  EXPECT_EQ(alone_seconds(cost, c.groups, c.cluster), cost.seconds[3]);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(seconds_on(c.of(combine), rank), 0.5);
}

TEST(OpCosts, LinkLoadsAddUpAtCardsBetweenNodesAndAtRanksWithinThem) {
  const FourRanks c;
  const LinkLoads loads = link_loads(c.of(dispatch).calls[0], c.groups);
  EXPECT_THAT(loads.card_out, ElementsAre(7000, 2000));
  EXPECT_THAT(loads.card_in, ElementsAre(2000, 7000));
  EXPECT_THAT(loads.rank_out, ElementsAre(2000, 1000, 1000, 1000));
  EXPECT_THAT(loads.rank_in, ElementsAre(1000, 2000, 1000, 1000));
}

TEST(OpCosts, ARankIsBusyAsLongAsItsSlowerLinkAndItsLargerDirection) {
  FourRanks c;
  // Within a node: 2000, 2000, 1000, 1000 bytes at 1e5. Alpha of the links between nodes.
  EXPECT_THAT(c.busy(dispatch),
              ElementsAre(DoubleEq(0.52), DoubleEq(0.52), DoubleEq(0.51), DoubleEq(0.51)));
  c.cluster.intra_node.bandwidth_bytes_per_s = 1e9;
  // Between nodes: 4000 out, 3000 out, 3000 in, 4000 in at 1e6.
  EXPECT_THAT(c.busy(dispatch),
              ElementsAre(DoubleEq(0.504), DoubleEq(0.503), DoubleEq(0.503), DoubleEq(0.504)));
  // Both ranks of a node send through one card: 7000 out and in at 1e6.
  EXPECT_DOUBLE_EQ(alone_seconds(c.of(dispatch), c.groups, c.cluster), 0.507);
  c.groups.card_of = {0, 1, 2, 3};  // or each through its own
  EXPECT_DOUBLE_EQ(alone_seconds(c.of(dispatch), c.groups, c.cluster), 0.504);
}

TEST(OpCosts, ARankMayUseTheCardThatAnotherOneLeaves) {
  FourRanks c;
  c.cluster.intra_node.bandwidth_bytes_per_s = 1e9;
  LinearFit& fit = c.costs.fits["all_to_all/inter_node"];
  fit.alpha_s = 0.125;
  fit.beta_s_per_unit = 1e-5;
  // Of the 7000 bytes of a node the fit's ranks would have 3500 each, and one of them has 4000.
  EXPECT_DOUBLE_EQ(c.busy(dispatch)[0], 0.125 + 3500 * 1e-5);
  c.groups.card_of = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(c.busy(dispatch)[0], 0.125 + 4000 * 1e-5);
}

TEST(OpCosts, ACollectivesFitGoesBeforeTheLinkButIsNeverFasterThanIt) {
  FourRanks c;
  c.groups.card_of = {0, 1, 2, 3};
  c.cluster.intra_node.bandwidth_bytes_per_s = 1e9;
  LinearFit& fit = c.costs.fits["all_to_all/inter_node"];
  fit.alpha_s = 0.125;
  fit.beta_s_per_unit = 1e-5;
  EXPECT_DOUBLE_EQ(c.busy(dispatch)[0], 0.125 + 4000 * 1e-5);
  fit.beta_s_per_unit = 1e-9;
  EXPECT_DOUBLE_EQ(c.busy(dispatch)[0], 0.125 + 4000 * 1e-6);
  fit.beta_s_per_unit = 0;  // all latency: the link's rate
  EXPECT_DOUBLE_EQ(c.busy(dispatch)[0], 0.125 + 4000 * 1e-6);
}

TEST(OpCosts, EveryExpertGroupMakesItsOwnCall) {
  FourRanks c;
  c.groups = moe::make_groups(4, 2, {0, 0, 1, 1});
  c.routing = small_routing({{1, 2}, {3, 4}, {5, 6}, {0, 0}});
  const OpCost cost = c.of(dispatch);
  ASSERT_EQ(cost.calls.size(), 2u);
  EXPECT_THAT(cost.call_of, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(cost.calls[1].ranks, ElementsAre(2, 3));
  ASSERT_EQ(cost.calls[1].transfers.size(), 1u);
  EXPECT_EQ(cost.calls[1].transfers[0].from, 2);
  EXPECT_EQ(cost.calls[1].transfers[0].to, 3);
  EXPECT_EQ(cost.calls[1].transfers[0].bytes, 6000);
  EXPECT_EQ(cost.calls[0].alpha_s, 0.25) << "within a node";
  EXPECT_THAT(member_seconds(cost, cost.calls[1], c.cluster),
              ElementsAre(DoubleEq(0.31), DoubleEq(0.31)));
}

TEST(OpCosts, OneRankExchangesNothingInNoTime) {
  FourRanks c;
  c.groups = moe::make_groups(1, 1);
  c.routing = small_routing({{3, 4}});
  c.cluster.inter_node = c.cluster.intra_node = {};
  EXPECT_TRUE(c.of(dispatch).calls.at(0).transfers.empty());
  EXPECT_EQ(alone_seconds(c.of(dispatch), c.groups, c.cluster), 0);
}

TEST(OpCosts, RefuseALinkThatTheClusterLacksAndNameThatOne) {
  const auto refusal = [](bool between, bool within) {
    FourRanks c;
    if (!between) c.cluster.inter_node = {};
    if (!within) c.cluster.intra_node = {};
    return [c] { c.all(); };
  };
  EXPECT_THAT(refusal(false, true),
              ThrowsMessage<moe::Refusal>(StrEq(
                  "cluster small: exchange counts runs between ranks of several nodes, but "
                  "no inter_node link is given: expected the inter_node link in the cluster's "
                  "file")));
  EXPECT_THAT(refusal(true, false),
              ThrowsMessage<moe::Refusal>(
                  StrEq("cluster small: exchange counts runs between ranks of one node, but no "
                        "intra_node link is given: expected the intra_node link in the cluster's "
                        "file")));
}

}  // namespace
}  // namespace tuner::op_costs_test
