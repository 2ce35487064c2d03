#include "tuner/costs/measured_cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::measured_cards_test {
namespace {

using testing::ElementsAre;

Cluster two_nodes_of(int ranks) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.ranks_per_node = ranks;
  cluster.inter_node = {8e9, 1e-5};
  return cluster;
}

TEST(MeasuredCards, AreTogetherAsFastAsBefore) {
  Cluster cluster = two_nodes_of(4);
  divide_cards(cluster, 4);
  EXPECT_EQ(cluster.cards_per_node, 4);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 2e9);
  EXPECT_DOUBLE_EQ(cluster.inter_node.latency_s, 1e-5);
  divide_cards(cluster, 2);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 4e9);
}

TEST(MeasuredCards, OfFewerRanksAreAsManyAsDivideThem) {
  EXPECT_EQ(measured_cards("box 4 x 1 Gbit/s", 8), 4);
  EXPECT_EQ(measured_cards("box 4 x 1 Gbit/s", 6), 2);
  EXPECT_EQ(measured_cards("eth0 25 Gbit/s, eth1 25 Gbit/s", 6), 1) << "who uses which?";
}

TEST(MeasuredCards, AreThoseOfTheGroupsOfACluster) {
  Cluster cluster = two_nodes_of(4);
  divide_cards(cluster, 2);
  moe::Groups groups = moe::make_groups(8, 8, {0, 0, 0, 0, 1, 1, 1, 1});
  use_cards(groups, 4, 2);
  EXPECT_THAT(groups.card_of, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(groups.card_of, groups_of(cluster, groups.layout).card_of);
  use_cards(groups, 4, 1);
  EXPECT_TRUE(groups.card_of.empty());
}

}  // namespace
}  // namespace tuner::measured_cards_test
