#include "moe/rows/balanced_quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/moe/rows/random_placement.h"

namespace moe::balanced_quotas_test {
namespace {

using ::testing::ElementsAre;

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

TEST(BalancedQuotas, OfARingOfReplicas) {
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

TEST(BalancedQuotas, AreAsEvenAsCopiesAllow) {
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
      EXPECT_EQ(std::accumulate(quotas[expert].begin(), quotas[expert].end(), std::int64_t{0}),
                rows[expert]);
      EXPECT_GE(std::ranges::min(quotas[expert]), 0);
    }
    EXPECT_EQ(std::ranges::max(member_rows(slots, quotas)), least_of_fullest(slots, rows));
  }
}

}  // namespace
}  // namespace moe::balanced_quotas_test
