#include "tuner/costs/mixed_rates.h"

#include <gtest/gtest.h>

namespace tuner::mixed_rates_test {
namespace {

std::vector<Sample> sweep(double beta_s, std::initializer_list<double> sizes) {
  std::vector<Sample> samples;
  for (const double bytes : sizes) samples.push_back({1, bytes, 30e-6 + beta_s * bytes});
  return samples;
}

TEST(MixedRates, AreFoundInRunsOfOtherLinks) {
  const auto mixed = find_mixed_rates({{1, sweep(8e-9, {1e3, 1e4, 1e5, 1e6, 1e7})},
                                       {2, sweep(8.4e-9, {1e5, 1e6, 1e7})},
                                       {3, sweep(27e-9, {1e5, 1e6, 1e7})}});
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->run, 1);
  EXPECT_EQ(mixed->other_run, 3);
  EXPECT_NEAR(mixed->ratio, 27.0 / 8, 0.2);
}

TEST(MixedRates, AreNoneWhereRunsAgreeOrOneSampleIsFarOff) {
  const auto most = sweep(8e-9, {1e3, 1e4, 1e5, 1e6, 1e7});
  EXPECT_FALSE(find_mixed_rates({{1, most}}));
  EXPECT_FALSE(find_mixed_rates({{1, most}, {2, sweep(9e-9, {1e5, 1e6, 1e7})}}));
  EXPECT_FALSE(find_mixed_rates({{1, most}, {2, sweep(40e-9, {1e6})}}));
  std::vector<Sample> one_slow = sweep(8e-9, {1e5, 1e6, 1e7});
  one_slow[1].seconds *= 5;
  EXPECT_FALSE(find_mixed_rates({{1, most}, {2, one_slow}}));
}

TEST(MixedRates, AreNotJudgedBelowTheSizesOfTheLine) {
  EXPECT_FALSE(find_mixed_rates(
      {{1, sweep(8e-9, {1e6, 2e6, 4e6, 8e6})}, {2, {{1, 1e2, 90e-6}, {1, 1e3, 90e-6}}}}));
}

}  // namespace
}  // namespace tuner::mixed_rates_test
