#include "tuner/planners/placement/pro_prophet_equations.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/tuner/planners/pro_prophet/drawn_costs.h"

namespace tuner::pro_prophet_equations_test {
namespace {

TEST(ProProphetEquations, WorkedByHand) {
  ProProphetCosts costs{{1, 0.5}, {2, 0.25}};
  costs.fnec_s = 3;
  costs.bnec_s = 4;
  EXPECT_DOUBLE_EQ(all_to_all_s(costs, 10), 6);
  EXPECT_DOUBLE_EQ(forward_experts_s(costs, 8), 4);
  EXPECT_DOUBLE_EQ(backward_experts_s(4), 8);
  const ProProphetTimes times{6, 4, 25, 17};
  EXPECT_DOUBLE_EQ(blocking_layer_s(times), 4 * 6 + 3 * 4 + 25 + 17);
  // Trans has 4 + 3 to hide under, Agg 8 + 4.
  EXPECT_DOUBLE_EQ(overlapped_layer_s(times, costs.fnec_s, costs.bnec_s),
                   4 * 6 + 3 * 4 + (25 - 7) + (17 - 12));
  EXPECT_DOUBLE_EQ(overlapped_layer_s(times, 100, 100), 36);
  // Trans beside 5, and Agg all beside computation that is a tenth slower meanwhile.
  EXPECT_DOUBLE_EQ(scheduled_layer_s(times, {5, 100, 0.9}), 36 + (25 - 5) + 0.1 * 17);
}

TEST(ProProphetEquations, LoadsAreBalancedWithinAShareOfAnExpertsMean) {
  // I / E = 100 / 4 = 25; a = 0.2: less than 5.
  EXPECT_TRUE(is_balanced(30, 26, 0.2, 100, 4));
  EXPECT_FALSE(is_balanced(30, 25, 0.2, 100, 4));
}

TEST(ProProphetEquations, AlgorithmTwoFillsTheKnownTimeFirst) {
  const TransferShares fits = split_transfer(2, 5);
  EXPECT_DOUBLE_EQ(fits.known_s, 2);
  EXPECT_DOUBLE_EQ(fits.experts_s, 0);
  const TransferShares exceeds = split_transfer(7, 5);
  EXPECT_DOUBLE_EQ(exceeds.known_s, 5);
  EXPECT_DOUBLE_EQ(exceeds.experts_s, 2);
  EXPECT_DOUBLE_EQ(split_transfer(7, 0).experts_s, 7);
}

TEST(ProProphetEquations, OverlapNeverCostsAndMoreRowsNeverCostLess) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const ProProphetCosts costs = test::draw_costs(random, 4);
    const auto time = [&] { return static_cast<double>(random() % 1000); };
    ProProphetTimes times{time(), time(), time(), time()};
    const double overlapped_s = overlapped_layer_s(times, costs.fnec_s, costs.bnec_s);
    EXPECT_LE(overlapped_s, blocking_layer_s(times));
    EXPECT_GE(overlapped_s, 4 * times.a2a_s + 3 * times.fec_s);
    const BesideTransfers beside{time(), time(), 1 - 1e-3 * static_cast<double>(random() % 500)};
    EXPECT_LE(scheduled_layer_s(times, beside), blocking_layer_s(times) * (1 + 1e-12));
    EXPECT_GE(scheduled_layer_s(times, beside), 4 * times.a2a_s + 3 * times.fec_s);
    // The bound by which the search is cut short: experts that take longer hide more, but never as
    // much as they cost.
    times.fec_s += time();
    EXPECT_GE(overlapped_layer_s(times, costs.fnec_s, costs.bnec_s), overlapped_s - 1e-9);
  }
}

}  // namespace
}  // namespace tuner::pro_prophet_equations_test
