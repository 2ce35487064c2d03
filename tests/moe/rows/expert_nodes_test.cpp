#include "moe/rows/expert_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moe::expert_nodes_test {
namespace {

using ::testing::ElementsAre;

TEST(ExpertNodes, AreCountedInTheOrderOfTheirFirstMembers) {
  // 12 ranks, of which pairs of neighbours share experts: the expert group of rank 1 is 1, 3, 5, 7,
  // 9, 11.
  const Groups groups = make_groups(Layout{1, 6, 2}, {9, 9, 4, 4, 4, 4, 9, 9, 1, 1, 1, 1});
  const ExpertNodes nodes = expert_nodes(groups, 7);
  EXPECT_THAT(nodes.members, ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2), ElementsAre(4, 5)));
  EXPECT_THAT(nodes.node, ElementsAre(0, 1, 1, 0, 2, 2));
  EXPECT_THAT(nodes.place, ElementsAre(0, 0, 1, 1, 0, 1));
  EXPECT_THAT(nodes.before, ElementsAre(0, 1, 0, 1, 2, 2));
}

TEST(ExpertNodes, GroupsAreMadeOfThem) {
  const Groups groups = make_groups(Layout{1, 6, 2}, {9, 9, 4, 4, 4, 4, 9, 9, 1, 1, 1, 1});
  EXPECT_THAT(members(groups, GroupKind::expert_node, 7), ElementsAre(1, 7));
  EXPECT_THAT(members(groups, GroupKind::expert_across, 7), ElementsAre(5, 7, 11));
  EXPECT_THAT(members(groups, GroupKind::expert_leaders, 7), ElementsAre(7));
  EXPECT_THAT(members(groups, GroupKind::expert_leaders, 3), ElementsAre(1, 3, 9));
  EXPECT_EQ(group_size(groups, GroupKind::expert_leaders, 7), 1);
  EXPECT_EQ(group_size(groups, GroupKind::expert_across, 7), 3);
  EXPECT_EQ(index_in_group(groups, GroupKind::expert_across, 7), 1);
  EXPECT_EQ(group_size(groups, GroupKind::expert, 7), 6);
  EXPECT_THROW(group_size(groups, GroupKind::expert_node), std::logic_error);
}

}  // namespace
}  // namespace moe::expert_nodes_test
