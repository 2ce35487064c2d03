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
}

TEST(BalanceTable, WhatIsNotThereHasNoFigures) {
  const BalanceTable table = build_balance_table({row(10, 3, 12), row(20, 1, 8)});
  for (const auto& [iteration, layer] : {std::pair{10, 1}, {15, 1}, {20, 9}, {-1, 3}}) {
    const db::BalanceOverview& none = table.of(iteration, layer);
    EXPECT_EQ(none.tokens, 0) << iteration << ", " << layer;
    EXPECT_EQ(none.max_over_mean, std::nullopt);
    EXPECT_EQ(none.locality, std::nullopt);
  }
  EXPECT_TRUE(build_balance_table({}).empty());
  EXPECT_EQ(BalanceTable{}.of(1, 1).tokens, 0);
}

}  // namespace
}  // namespace viewer::balance_table_test
