#include "viewer/model/balance_table.h"

#include <gtest/gtest.h>

namespace viewer::balance_table_test {
namespace {

db::BalanceOverview row(int iteration, int layer, std::int64_t tokens) {
  db::BalanceOverview result;
  result.iteration = iteration;
  result.layer = layer;
  result.experts = 4;
  result.tokens = tokens;
  return result;
}

TEST(BalanceTable, NumbersWhatTheDatabaseHas) {
  const BalanceTable table = build_balance_table({row(10, 3, 12), row(20, 1, 8), row(20, 3, 16)});
  EXPECT_EQ(table.iterations, (std::vector<int>{10, 20}));
  EXPECT_EQ(table.layers, (std::vector<int>{1, 3}));
  EXPECT_EQ(table.at(0, 1).tokens, 12);
  EXPECT_EQ(table.of(20, 1).tokens, 8);
  EXPECT_EQ(table.of(20, 3).tokens, 16);
  EXPECT_DOUBLE_EQ(mean_tokens(table.of(10, 3)), 3);
}

TEST(BalanceTable, WhatIsNotThereHasNoFigures) {
  const BalanceTable table = build_balance_table({row(10, 3, 12), row(20, 1, 8)});
  for (const auto& [iteration, layer] : {std::pair{10, 1}, {15, 1}, {20, 9}, {-1, 3}}) {
    const db::BalanceOverview& none = table.of(iteration, layer);
    EXPECT_EQ(none.tokens, 0) << iteration << ", " << layer;
    EXPECT_EQ(none.max_over_mean, std::nullopt);
    EXPECT_EQ(none.locality, std::nullopt);
    EXPECT_EQ(mean_tokens(none), 0);
  }
  EXPECT_TRUE(build_balance_table({}).empty());
  EXPECT_EQ(BalanceTable{}.of(1, 1).tokens, 0);
}

TEST(BalanceTable, TheLeastEvenLayerIsFoundAmongThoseThatTell) {
  db::BalanceOverview even = row(1, 3, 8), uneven = row(1, 5, 8), unknown = row(1, 7, 8);
  even.max_over_mean = 1.1, uneven.max_over_mean = 1.7;
  const BalanceTable table = build_balance_table({even, uneven, unknown, row(2, 3, 8)});
  ASSERT_NE(least_even(table, 0), nullptr);
  EXPECT_EQ(least_even(table, 0)->layer, 5);
  EXPECT_EQ(least_even(table, 1), nullptr) << "no row of that iteration tells";
  even.asked_max_over_mean = 2.5, uneven.asked_max_over_mean = 1.9;
  EXPECT_EQ(least_even(build_balance_table({even, uneven}), 0)->layer, 3) << "before drops";
}

}  // namespace
}  // namespace viewer::balance_table_test
