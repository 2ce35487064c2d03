#include "viewer/model/load_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace viewer::load_table_test {
namespace {

// Layer 3, iteration 10: experts get 1, 2, 3, 6 tokens.
std::vector<db::Load> rows() {
  return {{1, 10, 3, 0, 0, 1}, {1, 10, 3, 0, 1, 2}, {1, 10, 3, 0, 2, 3},
          {1, 10, 3, 0, 3, 2}, {1, 10, 3, 1, 3, 4}, {1, 20, 1, 0, 0, 8}};
}

TEST(LoadTable, SumsSourceRanksAndNumbersWhatWasRecorded) {
  const LoadTable table = build_load_table(rows());
  EXPECT_EQ(table.iterations, (std::vector<int>{10, 20}));
  EXPECT_EQ(table.layers, (std::vector<int>{1, 3}));
  EXPECT_EQ(table.experts, 4);
  EXPECT_EQ(table.at(0, 1, 3), 6);
  EXPECT_EQ(table.at(1, 0, 0), 8);
  EXPECT_EQ(table.at(1, 1, 2), 0);
}

TEST(LoadTable, AskedTokensAreThoseBeforeDropping) {
  auto dropped = rows();
  for (db::Load& row : dropped) row.asked_tokens = 2 * row.tokens;
  EXPECT_EQ(build_load_table(dropped, LoadBasis::asked).at(0, 1, 3), 12);
  EXPECT_EQ(build_load_table(dropped).at(0, 1, 3), 6);
  dropped[2].asked_tokens.reset();
  EXPECT_TRUE(build_load_table(dropped, LoadBasis::asked).empty()) << "one row does not tell";
}

TEST(LoadTable, TheMeanIsOfAllExpertsOfALayer) {
  const LoadTable table = build_load_table(rows());
  EXPECT_DOUBLE_EQ(mean_tokens(table, 0, 1), 3);
  EXPECT_DOUBLE_EQ(mean_tokens(table, 1, 0), 2);
}

TEST(LoadTable, PassesOverExpertsThatNoModelHas) {
  auto damaged = rows();
  for (const int expert : {-1, 2'000'000'000, std::numeric_limits<int>::max()}) {
    damaged.push_back({1, 30, 5, 0, expert, 7});
  }
  const LoadTable table = build_load_table(damaged);
  EXPECT_EQ(table.experts, 4);
  EXPECT_EQ(table.tokens, build_load_table(rows()).tokens);
}

TEST(LoadTable, QuantileIsAnEntry) {
  const LoadTable table = build_load_table(rows());
  EXPECT_EQ(table.quantile(1), 8);
  EXPECT_EQ(table.quantile(0), 0);
  EXPECT_EQ(LoadTable{}.quantile(0.5), 0);
  EXPECT_TRUE(build_load_table({}).empty());
}

}  // namespace
}  // namespace viewer::load_table_test
