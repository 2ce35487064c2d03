#include "microbench/compare/rank_test.h"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

namespace microbench::rank_test_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// The values of scipy.stats.mannwhitneyu (SciPy 1.16, method="auto").
TEST(RankTest, GivesSciPysValues) {
  EXPECT_NEAR(rank_test_p({19, 22, 16, 29, 24}, {20, 11, 17, 12}), 0.1111111111111111, 1e-12);
  EXPECT_NEAR(rank_test_p({.5, .7, .9}, {1., 1.2, 1.4, 1.6, 1.8, 2., 2.2, 2.4, 2.6, 2.8, 3.}),
              0.005494505494505495, 1e-12);
  EXPECT_NEAR(rank_test_p({1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9},
                          {1.15, 1.25, 1.35, 1.45, 1.55, 1.65, 1.75, 1.85, 1.95, 2.05, 2.15}),
              0.19266669599887198, 1e-9);
  EXPECT_NEAR(rank_test_p({1, 2, 2, 3, 3, 3, 4, 5, 5, 6}, {3, 3, 4, 5, 6, 6, 7, 7, 8, 9, 9}),
              0.00846441757463773, 1e-9)
      << "with ties";
  std::vector<double> a, b;
  for (int i = 0; i <= 100; ++i) a.push_back(i), b.push_back(i + 20.5);
  EXPECT_NEAR(rank_test_p(a, b), 7.552740522681556e-06, 1e-12);
  EXPECT_DOUBLE_EQ(rank_test_p({5, 5, 5}, {5, 5, 5, 5}), 1);
}

TEST(RankTest, IsTheSameFromBothSides) {
  const std::vector<double> a{1, 4, 6, 7}, b{2, 3, 9, 10, 11};
  EXPECT_DOUBLE_EQ(rank_test_p(a, b), rank_test_p(b, a));
  EXPECT_DOUBLE_EQ(rank_test_p({}, b), 1);
}

TEST(RankTest, TheRatioHasTheIntervalOfTheTest) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) a.push_back(1 + 0.001 * i), b.push_back(1.1 * (1 + 0.001 * i));
  const RatioInterval ratio = ratio_of(a, b);
  EXPECT_NEAR(ratio.ratio, 1.1, 1e-3);
  EXPECT_GT(ratio.low, 1.09);
  EXPECT_LT(ratio.high, 1.11);
  EXPECT_LT(ratio.low, ratio.ratio);
  EXPECT_THROW(ratio_of({}, b), std::invalid_argument);
  const RatioInterval few = ratio_of({1}, {2});
  EXPECT_EQ(few.low, 2);
  EXPECT_EQ(few.high, 2);
}

TEST(RankTest, TheMedianOfFewRatiosHasNoInterval) {
  EXPECT_TRUE(std::isinf(median_of_ratios({1, 2, 3, 4, 5}).high));
  const RatioInterval six = median_of_ratios({1, 2, 3, 4, 5, 6});  // 2 / 2^6 = 3%
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  const RatioInterval nine = median_of_ratios({1, 2, 3, 4, 5, 6, 7, 8, 9});  // 2 * 10 / 2^9 = 4%
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
}

TEST(RankTest, HolmsCorrectionWorkedByHand) {
  EXPECT_THAT(corrected_by_holm({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12),
                          DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(corrected_by_holm({0.9, 0.8}), ElementsAre(1, 1));
}

}  // namespace
}  // namespace microbench::rank_test_test
