#include "moe/kernels/counter_random.h"

#include <gtest/gtest.h>

#include "moe/kernels/draw.h"

namespace moe::counter_random_test {
namespace {

TEST(CounterRandom, IsTheSameForEver) {
  // SplitMix64's first number from a state of 0, and its successor.
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(mix(0x9e3779b97f4a7c15), 0x6e789e6aa1b965f4);
}

TEST(CounterRandom, DiffersWithEverythingItIsDrawnBy) {
  const std::uint64_t key = token_key(1, 2, 3, 4);
  EXPECT_NE(token_key(2, 2, 3, 4), key);
  EXPECT_NE(token_key(1, 3, 3, 4), key);
  EXPECT_NE(token_key(1, 2, 4, 4), key);
  EXPECT_NE(token_key(1, 2, 3, 5), key);
  EXPECT_NE(token_key(2, 1, 3, 4), key) << "order counts";
  EXPECT_NE(noise(key, 0), noise(key, 1));
}

TEST(CounterRandom, NoiseHasTheMomentsOfANormal) {
  double sum = 0, squares = 0, neighbours = 0, before = 0;
  constexpr int kTokens = 20'000, kExperts = 5, kCount = kTokens * kExperts;
  for (int t = 0; t < kTokens; ++t) {
    const std::uint64_t key = token_key(7, 1, 1, t);
    for (int e = 0; e < kExperts; ++e) {
      const double x = noise(key, e);
      sum += x;
      squares += x * x;
      neighbours += x * before;
      before = x;
    }
  }
  EXPECT_NEAR(sum / kCount, 0, 0.015);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(neighbours / kCount, 0, 0.015);
}

TEST(CounterRandom, ShortNumbersAreTheSameInFloatAndDouble) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(static_cast<double>(short_unit<float>(mix(i))), short_unit<double>(mix(i)));
    EXPECT_LT(short_unit<float>(~std::uint64_t{0}), 1.0f);
  }
}

}  // namespace
}  // namespace moe::counter_random_test
