#include "moe/rows/interior_point_quotas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/moe/rows/random_placement.h"

namespace moe::interior_point_quotas_test {
namespace {

std::int64_t fullest(const ExpertSlots& slots, const RowQuotas& quotas) {
  std::vector<std::int64_t> rows(slots.replicas_of.size());
  for (std::size_t expert = 0; expert < quotas.size(); ++expert) {
    const std::vector<int> copies = copies_of(slots, static_cast<int>(expert));
    for (std::size_t copy = 0; copy < copies.size(); ++copy) {
      rows[copies[copy]] += quotas[expert][copy];
    }
  }
  return std::ranges::max(rows);
}

TEST(InteriorPointQuotas, OfARingAreNearTheOptimum) {
  const ExpertSlots slots =
      expert_slots({{{0, {1}}, {2, {2}}, {5, {3}}, {6, {0}}}, RowsOfOthers::balanced}, 8, 4);
  const std::vector<std::int64_t> rows{160, 90, 32, 32, 8, 36, 30, 12};
  const RowQuotas quotas = interior_point_quotas(slots, rows);
  EXPECT_EQ(fullest(slots, balanced_quotas(slots, rows)), 141);
  EXPECT_LE(fullest(slots, quotas), 143);
}

/// Replicas as LPLB has them: `count` of each member's experts on the members before it, one by one.
ExpertSlots ring_of_replicas(int members, int experts_each, int count) {
  ExpertPlacement placement{{}, RowsOfOthers::balanced};
  for (int member = 0; member < members; ++member) {
    for (int i = 0; i < count; ++i) {
      placement.replicas.push_back({member * experts_each + i, {(member + 1 + i) % members}});
    }
  }
  return expert_slots(placement, members * experts_each, members);
}

TEST(InteriorPointQuotas, OfDrawnLoadsAreNearTheOptimumAndComputeEveryRowOnce) {
  std::mt19937 random(3);
  for (int drawn = 0; drawn < 300; ++drawn) {
    const int members = 3 + static_cast<int>(random() % 14);
    const int each = 2 + static_cast<int>(random() % 3);
    const ExpertSlots slots = ring_of_replicas(members, each, 1 + static_cast<int>(random() % 2));
    std::vector<std::int64_t> rows;
    for (int expert = 0; expert < members * each; ++expert) {
      rows.push_back(random() % 4 == 0 ? 0 : random() % (random() % 5 == 0 ? 4000 : 200));
    }
    const RowQuotas quotas = interior_point_quotas(slots, rows);
    EXPECT_EQ(quotas, interior_point_quotas(slots, rows));
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      EXPECT_EQ(std::accumulate(quotas[expert].begin(), quotas[expert].end(), std::int64_t{0}),
                rows[expert]);
      EXPECT_GE(std::ranges::min(quotas[expert]), 0);
    }
    const double optimum = static_cast<double>(fullest(slots, balanced_quotas(slots, rows)));
    EXPECT_LE(static_cast<double>(fullest(slots, quotas)), 1.05 * optimum + 2) << drawn;
  }
}

}  // namespace
}  // namespace moe::interior_point_quotas_test
