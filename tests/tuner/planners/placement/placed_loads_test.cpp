#include "tuner/planners/placement/placed_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "moe/errors.h"
#include "moe/rows/balance.h"
#include "tests/moe/rows/random_placement.h"
#include "tests/tuner/planners/drawn_rows.h"
#include "tests/tuner/planners/placement/balance_ratio.h"

namespace tuner::placed_loads_test {
namespace {

using ::testing::ElementsAre;

moe::ExpertPlacement placement(std::vector<moe::ReplicatedExpert> replicas,
                               moe::RowsOfOthers rows_of_others = moe::RowsOfOthers::home) {
  return {std::move(replicas), rows_of_others};
}

TEST(PlacedLoads, WorkedByHand) {
  const moe::Groups groups = moe::make_groups(3, 3);
  const moe::LayerRouting routing{0, 3, {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}}, 0};
  const PlacedLoads at_home = placed_loads(routing, groups, {});
  EXPECT_THAT(at_home.received, ElementsAre(110, 202, 33));
  EXPECT_THAT(at_home.computed, ElementsAre(111, 222, 333));

  // Member 0 computes its 2 rows for expert 1 itself; those of member 2 go home.
  const PlacedLoads one = placed_loads(routing, groups, placement({{1, {0}}}));
  EXPECT_THAT(one.received, ElementsAre(110, 200, 33));
  EXPECT_THAT(one.computed, ElementsAre(113, 220, 333));

  // Spread over members 1 (home) and 0: member 2's turn is 2 mod 2 = 0, home's.
  const auto spread = moe::RowsOfOthers::spread;
  EXPECT_THAT(placed_loads(routing, groups, placement({{1, {0}}}, spread)).computed,
              ElementsAre(113, 220, 333));
  // Expert 2 at members 2 (home) and 0: member 1's turn is 1 mod 2 = 1, the first holder's.
  const PlacedLoads two = placed_loads(routing, groups, placement({{2, {0}}}, spread));
  EXPECT_THAT(two.received, ElementsAre(110 + 30, 202, 0));
  EXPECT_THAT(two.computed, ElementsAre(111 + 3 + 30, 222, 300));
}

TEST(PlacedLoads, ComputeEveryRowOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const moe::Layout layout{1 + static_cast<int>(random() % 2), 2 + static_cast<int>(random() % 3),
                             1 + static_cast<int>(random() % 2)};
    const moe::Groups groups = moe::make_groups(layout);
    const int experts = layout.expert * (1 + static_cast<int>(random() % 2));
    const auto routing = test::draw_rows(random, moe::stage_ranks(groups), experts);
    const auto drawn = moe::test::random_placement(random, experts, layout.expert);
    const PlacedLoads loads = placed_loads(routing, groups, drawn);
    const auto sum = [](const std::vector<std::int64_t>& values) {
      return std::accumulate(values.begin(), values.end(), std::int64_t{0});
    };
    EXPECT_EQ(sum(loads.computed), layout.expert_sharded * sum(moe::expert_tokens(routing)));
    if (drawn.rows_of_others == moe::RowsOfOthers::balanced) continue;  // rows leave their home
    // What is at home leaves less to receive than without replicas, never more in all.
    EXPECT_LE(sum(loads.received), sum(placed_loads(routing, groups, {}).received));
  }
}

TEST(PlacedLoads, RefusePlacementsThatAreNone) {
  const moe::Groups groups = moe::make_groups(2, 2);
  const moe::LayerRouting routing{0, 2, {{1, 1}, {1, 1}}, 0};
  for (const auto& wrong :
       {placement({{2, {0}}}), placement({{-1, {0}}}), placement({{0, {0}}}), placement({{0, {2}}}),
        placement({{0, {1, 1}}}), placement({{0, {1}}, {0, {1}}})}) {
    EXPECT_THROW(placed_loads(routing, groups, wrong), moe::Refusal);
  }
}

TEST(GroupedRows, AreTheRowsOfEveryGroup) {
  std::mt19937 random(3);
  const moe::Groups groups = moe::make_groups(moe::Layout{2, 3, 2});
  const moe::LayerRouting routing = test::draw_rows(random, 12, 6);
  const GroupedRows rows = grouped_rows(routing, groups);
  for (int rank = 0; rank < 12; ++rank) {
    const auto group = moe::members(groups, moe::GroupKind::expert, rank);
    const auto shards = moe::members(groups, moe::GroupKind::expert_sharded, rank);
    const int shard = moe::index_in_group(groups, moe::GroupKind::expert_sharded, rank);
    const int member = moe::index_in_group(groups, moe::GroupKind::expert, rank);
    ASSERT_EQ(group.size(), 3u);
    ASSERT_EQ(shards.size(), 2u);
    for (int expert = 0; expert < 6; ++expert) {
      EXPECT_EQ(rows_of(rows, rank / 6, shard, expert)[static_cast<std::size_t>(member)],
                routing.tokens[static_cast<std::size_t>(rank)][static_cast<std::size_t>(expert)]);
    }
  }
  EXPECT_EQ(rows_by_expert(rows), moe::expert_tokens(routing));
  const auto of_first = rows_by_member(rows, 0);
  EXPECT_EQ(std::accumulate(of_first.begin(), of_first.end(), std::int64_t{0}),
            moe::expert_tokens(routing)[0]);
}

TEST(BalanceRatio, IsDeviationBeforeOverAfter) {
  // 12 and 4 rows computed, then 9 and 7: deviations of 4 and 1.
  const moe::Groups groups = moe::make_groups(2, 2);
  const moe::LayerRouting routing{0, 2, {{9, 0}, {3, 4}}, 0};
  EXPECT_DOUBLE_EQ(test::balance_ratio(routing, groups, placement({{0, {1}}})), 4);
  EXPECT_DOUBLE_EQ(test::balance_ratio(routing, groups, {}), 1);
  EXPECT_DOUBLE_EQ(max_over_mean({0, 8}), 2);
  EXPECT_DOUBLE_EQ(max_over_mean({0, 0}), 1);
}

}  // namespace
}  // namespace tuner::placed_loads_test
