#include "tuner/planners/fastermoe/fastermoe_equations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tuner/planners/placement/most_loaded_experts.h"

namespace tuner::fastermoe_equations_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FasterMoeEquations, WorkedByHand) {
  // 3 * 2 + 4 * 1 = 10 for each row of the busiest expert; startups are no part of the rule.
  const RowCost exchange{100, 1}, experts{100, 2};
  EXPECT_DOUBLE_EQ(shadowed_layer_s(exchange, experts, {7}, 5, 2), 50 + 14);
  EXPECT_DOUBLE_EQ(shadowed_layer_s(exchange, experts, {7, 3}, 5, 2), 50 + 14 + 3);
  EXPECT_DOUBLE_EQ(shadowed_layer_s(exchange, experts, {7, 3}, 5, 0), 50);
  // 90, 60, 58, 10 rows; sending costs 100: 900, then 600 + 100, then 580 + 200, which is more.
  const std::vector<std::int64_t> rows{10, 60, 90, 58};
  EXPECT_THAT(shadowed_experts(rows, exchange, experts, {100}), ElementsAre(2));
  // It stops at the first rise, though the third would have paid: 100 + 300.
  EXPECT_LT(shadowed_layer_s(exchange, experts, {100}, 10, 3),
            shadowed_layer_s(exchange, experts, {100}, 60, 1));
  EXPECT_THAT(shadowed_experts(rows, exchange, experts, {10}), ElementsAre(2, 1, 3));
  EXPECT_THAT(shadowed_experts(rows, exchange, experts, {1000}), IsEmpty());
  EXPECT_THAT(shadowed_experts(rows, exchange, experts, {100, 201}), IsEmpty());
}

TEST(FasterMoeEquations, ShadowTheFirstOfAllNumbersWhoseSuccessorCostsNoLess) {
  std::mt19937 random(1);
  int best = 0;
  double rule_s = 0, least_s = 0, none_s = 0;
  constexpr int layers = 1000;
  for (int i = 0; i < layers; ++i) {
    std::vector<std::int64_t> rows;
    for (std::size_t e = 0; e < 1 + random() % 8; ++e) {
      rows.push_back(static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 500 : 60)));
    }
    const RowCost exchange{0, 1 + static_cast<double>(random() % 3)}, experts{0, 1};
    const ShadowCost shadow{static_cast<double>(random() % 400), 0};
    const auto shadowed = shadowed_experts(rows, exchange, experts, shadow);
    const std::vector<int> order = most_loaded(rows);
    std::vector<double> seconds;  // by number of shadowed experts
    for (std::size_t n = 0; n < rows.size(); ++n) {
      seconds.push_back(shadowed_layer_s(exchange, experts, shadow,
                                         rows[static_cast<std::size_t>(order[n])],
                                         static_cast<int>(n)));
    }
    const auto rise = std::adjacent_find(seconds.begin(), seconds.end(),
                                         [](double a, double b) { return b >= a; });
    const auto expected = rise == seconds.end() ? seconds.size() - 1
                                                : static_cast<std::size_t>(rise - seconds.begin());
    ASSERT_EQ(shadowed.size(), expected);
    EXPECT_TRUE(std::equal(shadowed.begin(), shadowed.end(), order.begin()));
    const double least = *std::min_element(seconds.begin(), seconds.end());
    best += seconds[expected] <= least;
    rule_s += seconds[expected];
    least_s += least;
    none_s += seconds[0];
  }
  const std::string summary = fmt::format(
      "of {} layers as good as any number of shadows for {}; {:.1f}% of what shadows can gain",
      layers, best, 100 * (none_s - rule_s) / (none_s - least_s));
  fmt::print("{}\n", summary);
  EXPECT_GT(best, layers / 2) << summary;
  EXPECT_GT(none_s - rule_s, 0.7 * (none_s - least_s)) << summary;
}

}  // namespace
}  // namespace tuner::fastermoe_equations_test
