#include "moe/rows/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace moe::groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(Groups, OfSixRanksInExpertGroupsOfTwo) {
  const Groups groups = make_groups(6, 2);
  EXPECT_THAT(members(groups, GroupKind::expert, 3), ElementsAre(2, 3));
  EXPECT_THAT(members(groups, GroupKind::expert_data, 3), ElementsAre(1, 3, 5));
  EXPECT_THAT(members(groups, GroupKind::stage, 3), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(group_size(groups, GroupKind::expert), 2);
  EXPECT_EQ(group_size(groups, GroupKind::expert_data), 3);
  EXPECT_EQ(group_size(groups, GroupKind::stage), 6);
}

TEST(Groups, OfTheWorldAreTheRanksOfAllStages) {
  const Groups groups = make_groups({1, 2, 1, 1, 3});
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_THAT(members(groups, GroupKind::world, rank), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(index_in_group(groups, GroupKind::world, rank), rank);
  }
  EXPECT_EQ(group_size(groups, GroupKind::world), 6);
}

TEST(Groups, OfTheEndsAreTheSamePlacesOfTheFirstAndTheLastStage) {
  const Groups groups = make_groups({1, 2, 1, 1, 3});
  EXPECT_THAT(members(groups, GroupKind::ends, 1), ElementsAre(1, 5));
  EXPECT_THAT(members(groups, GroupKind::ends, 4), ElementsAre(0, 4));
  EXPECT_THAT(members(groups, GroupKind::ends, 2), ElementsAre(2)) << "a stage between them";
  EXPECT_EQ(index_in_group(groups, GroupKind::ends, 1), 0);
  EXPECT_EQ(index_in_group(groups, GroupKind::ends, 4), 1);
  EXPECT_EQ(index_in_group(groups, GroupKind::ends, 2), 0);
  EXPECT_EQ(group_size(groups, GroupKind::ends), 2);
  const Groups one_stage = make_groups({1, 2, 1, 1, 1});
  EXPECT_THAT(members(one_stage, GroupKind::ends, 1), ElementsAre(1));
  EXPECT_EQ(group_size(one_stage, GroupKind::ends), 1);
}

TEST(Groups, OfEveryKindDivideTheRanksAndKnowEachOnesPlace) {
  for (const Layout& layout : {Layout{1, 1, 1, 1},
                               {2, 1, 1, 1},
                               {1, 2, 1, 1},
                               {6, 1, 1, 3},
                               {3, 2, 1, 2},
                               {2, 3, 1, 1},
                               {1, 7, 1, 7},
                               {3, 4, 1, 2},
                               {1, 1, 2, 2},
                               {2, 2, 2, 4},
                               {3, 2, 2, 1}}) {
    const Groups groups = make_groups(layout);
    const int ranks = groups.ranks;
    for (const GroupKind kind : {GroupKind::stage, GroupKind::expert, GroupKind::expert_sharded,
                                 GroupKind::expert_data, GroupKind::tensor, GroupKind::data}) {
      std::set<std::vector<int>> all;
      std::multiset<int> held;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<int> group = members(groups, kind, rank);
        ASSERT_EQ(static_cast<int>(group.size()), group_size(groups, kind));
        EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
        EXPECT_EQ(group[static_cast<std::size_t>(index_in_group(groups, kind, rank))], rank);
        if (all.insert(group).second) held.insert(group.begin(), group.end());
      }
      EXPECT_EQ(held.size(), static_cast<std::size_t>(ranks)) << "a rank in two groups of a kind";
    }
  }
}

TEST(Groups, ExpertGroupsAndTheirCopiesMeetInOneRank) {
  const Groups groups = make_groups(12, 4);
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) {
      const auto experts = members(groups, GroupKind::expert, a);
      const auto copies = members(groups, GroupKind::expert_data, b);
      std::vector<int> both;
      std::set_intersection(experts.begin(), experts.end(), copies.begin(), copies.end(),
                            std::back_inserter(both));
      EXPECT_EQ(both.size(), 1u) << a << " and " << b;
    }
  }
}

TEST(Groups, AreOnOneNodeWhereNothingElseIsSaid) {
  EXPECT_THAT(make_groups(3, 1).node_of, ElementsAre(0, 0, 0));
  EXPECT_THAT(make_groups(3, 1, {0, 0, 1}).node_of, ElementsAre(0, 0, 1));
}

TEST(Groups, RefuseRanksThatDoNotDivideAndNodesOfOtherRanks) {
  const auto make = [](int ranks, int expert_ranks, std::vector<int> nodes = {}) {
    return [=] { make_groups(ranks, expert_ranks, nodes); };
  };
  EXPECT_THAT(make(4, 3), ThrowsMessage<std::invalid_argument>(
                              StrEq("groups: 4 ranks do not divide into expert groups of 3: "
                                    "expected a divisor of 4")));
  EXPECT_THROW(make(4, 8)(), std::invalid_argument);
  EXPECT_THROW(make(0, 1)(), std::invalid_argument);
  EXPECT_THROW(make(4, 0)(), std::invalid_argument);
  EXPECT_THAT(make(4, 2, {0, 1}),
              ThrowsMessage<std::invalid_argument>(StrEq(
                  "groups: nodes of 2 ranks, but layout dp=2,ep=2,esp=1,tp=1,pp=1 has 4 ranks")));
  EXPECT_THAT(
      [] {
        make_groups(Layout{1, 1, 1, 2});
      },
      ThrowsMessage<std::invalid_argument>(
          StrEq("groups: layout dp=1,ep=1,esp=1,tp=2,pp=1: tp = 2 does not divide 1 ranks")));
  EXPECT_THROW(make_groups(Layout{1, 3, 1, 2, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace moe::groups_test
