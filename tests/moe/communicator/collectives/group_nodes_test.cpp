#include "moe/communicator/collectives/group_nodes.h"

#include <gtest/gtest.h>

namespace moe::group_nodes_test {
namespace {

using Members = std::vector<std::vector<int>>;

TEST(GroupNodes, AreInTheOrderOfTheirFirstMembers) {
  const GroupNodes nodes = group_nodes(std::vector<int>{7, 3, 7, 3, 5});
  EXPECT_EQ(nodes.members, (Members{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(nodes.node, (std::vector<int>{0, 1, 0, 1, 2}));
  EXPECT_EQ(nodes.place, (std::vector<int>{0, 0, 1, 1, 0}));
  EXPECT_EQ(nodes.fewest(), 1);
}

TEST(GroupNodes, ShareCardsWhereOneOfSeveralHasSeveralMembers) {
  EXPECT_TRUE(group_nodes(std::vector<int>{0, 0, 1}).share_cards());
  EXPECT_FALSE(group_nodes(std::vector<int>{0, 0, 0}).share_cards());
  EXPECT_FALSE(group_nodes(std::vector<int>{0, 1, 2}).share_cards());
  EXPECT_FALSE(group_nodes({}).share_cards());
}

}  // namespace
}  // namespace moe::group_nodes_test
