#include "moe/rows/row_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/moe/rows/random_placement.h"

namespace moe {
namespace {

using ::testing::ElementsAre;

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(RowShares, KeepRowsNearHomeAndPutTheRestInALine) {
  const std::vector<std::int64_t> rows{40, 44, 36, 40}, quotas{46, 56, 58};
  const std::vector<int> own{0, -1, 1, 2};  // members 0, 2 and 3 have copies
  EXPECT_THAT(shares_near_home(rows, own, quotas).counts,
              ElementsAre(40, 0, 0, 6, 20, 18, 0, 36, 0, 0, 0, 40));
}

TEST(RowShares, SendEveryRowOnce) {
  std::mt19937 random(2);
  for (int drawn = 0; drawn < 100; ++drawn) {
    const Layout layout{1 + static_cast<int>(random() % 2), 2 + static_cast<int>(random() % 3),
                        1 + static_cast<int>(random() % 2)};
    const Groups groups = make_groups(layout);
    const int experts = 2 * layout.expert;
    LayerRouting routing{0, experts, {}};
    for (int rank = 0; rank < stage_ranks(groups); ++rank) {
      auto& tokens = routing.tokens.emplace_back();
      for (int expert = 0; expert < experts; ++expert) tokens.push_back(random() % 30);
    }
    ExpertPlacement placement = test::random_placement(random, experts, layout.expert);
    placement.rows_of_others = RowsOfOthers::balanced;
    placement.balanced_by = static_cast<BalancedBy>(drawn / 2 % 2);
    if (drawn % 2 == 0) {
      placement.replicas.clear();
      placement.late = {static_cast<LateRule>(drawn / 2 % 3), 1 + drawn % 3, 1.1, 1};
    }
    const auto between = rows_between_ranks(placement, routing, groups);
    EXPECT_EQ(rows_between_ranks(placement, routing, groups), between);
    for (int rank = 0; rank < stage_ranks(groups); ++rank) {
      EXPECT_EQ(sum(between[rank]), sum(routing.tokens[rank]));
      const PlacedRows placed = place_rows(placement, routing, groups, rank);
      const RowShares shares(placed, routing, groups, rank);
      const int shard = index_in_group(groups, GroupKind::expert_sharded, rank);
      const int self = index_in_group(groups, GroupKind::expert, rank);
      for (int expert = 0; expert < experts; ++expert) {
        std::int64_t sent = 0;
        for (int member = 0; member < layout.expert; ++member) {
          const std::int64_t rows = shares.rows(shard, self, expert, member);
          EXPECT_TRUE(rows == 0 || may_send(placed.slots, self, expert, member));
          sent += rows;
        }
        EXPECT_EQ(sent, routing.tokens[rank][expert]);
      }
    }
  }
}

TEST(RowShares, OfACopyAreWorkedOutOnceForItsRanks) {
  const Groups groups = make_groups(Layout{2, 4, 1});
  const LayerRouting routing = zipf_routing(0, 8, 8, 100, 1, 1);
  const ExpertPlacement placement{{}, RowsOfOthers::balanced, {}, {}, {LateRule::moonep, 2}};
  SharesByCopy shares(placement, routing);
  const auto& first = shares.of(groups, 0);
  EXPECT_EQ(&shares.of(groups, 3), &first);
  EXPECT_NE(&shares.of(groups, 4), &first);
  EXPECT_EQ(shares.of(groups, 5).rows.rows_by_member(0, 1),
            RowShares(place_rows(placement, routing, groups, 5), routing, groups, 5)
                .rows_by_member(0, 1));
}

}  // namespace
}  // namespace moe
