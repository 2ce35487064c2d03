#include "tuner/costs/measured_cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::measured_cards_test {
namespace {

using testing::ElementsAre;

CostedCluster two_nodes_of(int ranks) {
  CostedCluster measured;
  Cluster& cluster = measured.cluster;
  cluster.nodes = 2;
  cluster.ranks_per_node = ranks;
  cluster.inter_node = {8e9, 1e-5};
  return measured;
}

TEST(MeasuredCards, AreTogetherAsFastAsBefore) {
  CostedCluster measured = two_nodes_of(4);
  const Cluster& cluster = measured.cluster;
  divide_cards(measured, 4);
  EXPECT_EQ(cluster.cards_per_node, 4);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 2e9);
  EXPECT_DOUBLE_EQ(cluster.inter_node.latency_s, 1e-5);
  divide_cards(measured, 2);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 4e9);
}

TEST(MeasuredCards, ShareTheRingsOfNccl) {
  CostedCluster measured = two_nodes_of(4);
  LinearFit bus;  // 7/8 of the array twice, all by the one card of a node
  bus.beta_s_per_unit = 1e-9;
  measured.costs.fits["all_reduce/inter_node"] = bus;
  measured.costs.fits["all_to_all/inter_node"] = bus;
  CostedCluster processors = measured;
  measured.cluster.device = "cuda";
  divide_cards(measured, 4);
  EXPECT_DOUBLE_EQ(measured.costs.fits.at("all_reduce/inter_node").beta_s_per_unit, 4e-9);
  EXPECT_DOUBLE_EQ(measured.costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 1e-9);
  divide_cards(measured, 2);
  EXPECT_DOUBLE_EQ(measured.costs.fits.at("all_reduce/inter_node").beta_s_per_unit, 4e-9);
  divide_cards(processors, 4);
  EXPECT_DOUBLE_EQ(processors.costs.fits.at("all_reduce/inter_node").beta_s_per_unit, 1e-9)
      << "one ring leaves a node by one card";
}

TEST(MeasuredCards, OfFewerRanksAreAsManyAsDivideThem) {
  EXPECT_EQ(measured_cards("box 4 x 1 Gbit/s", 8), 4);
  EXPECT_EQ(measured_cards("box 4 x 1 Gbit/s", 6), 2);
  EXPECT_EQ(measured_cards("eth0 25 Gbit/s, eth1 25 Gbit/s", 6), 1) << "who uses which?";
}

TEST(MeasuredCards, AreThoseOfTheGroupsOfACluster) {
  CostedCluster measured = two_nodes_of(4);
  divide_cards(measured, 2);
  moe::Groups groups = moe::make_groups(8, 8, {0, 0, 0, 0, 1, 1, 1, 1});
  use_cards(groups, 4, 2);
  EXPECT_THAT(groups.card_of, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(groups.card_of, groups_of(measured.cluster, groups.layout).card_of);
  use_cards(groups, 4, 1);
  EXPECT_TRUE(groups.card_of.empty());
}

}  // namespace
}  // namespace tuner::measured_cards_test
