#include "moe/rows/row_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/moe/rows/random_placement.h"

namespace moe {
namespace {

using ::testing::ElementsAre;

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::vector<std::int64_t> member_rows(const ExpertSlots& slots, const RowQuotas& quotas) {
  std::vector<std::int64_t> rows(slots.replicas_of.size());
  for (std::size_t expert = 0; expert < quotas.size(); ++expert) {
    const std::vector<int> copies = copies_of(slots, static_cast<int>(expert));
    for (std::size_t copy = 0; copy < copies.size(); ++copy) {
      rows[copies[copy]] += quotas[expert][copy];
    }
  }
  return rows;
}

/// The rows of the fullest member, at least: no members can have fewer on average than those
/// experts have of which they are the only holders. The largest of these averages can be reached
/// (max-flow min-cut).
std::int64_t least_of_fullest(const ExpertSlots& slots, const std::vector<std::int64_t>& rows) {
  const auto members = static_cast<int>(slots.replicas_of.size());
  std::int64_t least = 0;
  for (int chosen = 1; chosen < 1 << members; ++chosen) {
    std::int64_t bound = 0, of = 0;
    for (int member = 0; member < members; ++member) of += chosen >> member & 1;
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      const std::vector<int> copies = copies_of(slots, static_cast<int>(expert));
      const bool inside =
          std::ranges::all_of(copies, [&](int copy) { return (chosen >> copy & 1) != 0; });
      if (inside) bound += rows[expert];
    }
    least = std::max(least, (bound + of - 1) / of);
  }
  return least;
}

TEST(RowShares, OfARingOfReplicas) {
  // Rank r has a replica of the heaviest expert of the rank before it.
  const ExpertSlots slots =
      expert_slots({{{0, {1}}, {2, {2}}, {5, {3}}, {6, {0}}}, RowsOfOthers::balanced}, 8, 4);
  const std::vector<std::int64_t> rows{160, 90, 32, 32, 8, 36, 30, 12};
  const RowQuotas quotas = balanced_quotas(slots, rows);
  EXPECT_THAT(quotas[0], ElementsAre(51, 109));
  EXPECT_THAT(quotas[2], ElementsAre(0, 32));
  EXPECT_THAT(quotas[5], ElementsAre(36, 0));
  EXPECT_EQ(std::ranges::max(member_rows(slots, quotas)), 141);
}

TEST(RowShares, KeepRowsNearHomeAndPutTheRestInALine) {
  const std::vector<std::int64_t> rows{40, 44, 36, 40}, quotas{46, 56, 58};
  const std::vector<int> own{0, -1, 1, 2};  // members 0, 2 and 3 have copies
  EXPECT_THAT(shares_near_home(rows, own, quotas).counts,
              ElementsAre(40, 0, 0, 6, 20, 18, 0, 36, 0, 0, 0, 40));
}

TEST(RowShares, BalanceAsWellAsCopiesAllow) {
  std::mt19937 random(1);
  for (int drawn = 0; drawn < 300; ++drawn) {
    const int members = 2 + static_cast<int>(random() % 5);
    const int experts = members * (1 + static_cast<int>(random() % 3));
    ExpertPlacement placement = test::random_placement(random, experts, members);
    placement.rows_of_others = RowsOfOthers::balanced;
    const ExpertSlots slots = expert_slots(placement, experts, members);
    std::vector<std::int64_t> rows;
    for (int expert = 0; expert < experts; ++expert) {
      rows.push_back(random() % 4 == 0 ? 0 : random() % (random() % 5 == 0 ? 1000 : 50));
    }
    const RowQuotas quotas = balanced_quotas(slots, rows);
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      EXPECT_EQ(sum(quotas[expert]), rows[expert]);
      EXPECT_GE(std::ranges::min(quotas[expert]), 0);
    }
    EXPECT_EQ(std::ranges::max(member_rows(slots, quotas)), least_of_fullest(slots, rows));
  }
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
    if (drawn % 2 == 0) {
      placement.replicas.clear();
      placement.late = {static_cast<LateRule>(drawn / 2 % 3), 1 + drawn % 3, 1.1, 1};
    }
    const auto between = rows_between_ranks(placement, routing, groups);
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
