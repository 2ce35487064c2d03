#include "viewer/model/ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace viewer::ticks_test {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

TEST(Ticks, StepsAreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_DOUBLE_EQ(nice_step(0.9), 1);
  EXPECT_DOUBLE_EQ(nice_step(1), 1);
  EXPECT_DOUBLE_EQ(nice_step(1.1), 2);
  EXPECT_DOUBLE_EQ(nice_step(2.1e-6), 5e-6);
  EXPECT_DOUBLE_EQ(nice_step(51), 100);
  EXPECT_THROW(nice_step(0), std::invalid_argument);
  EXPECT_THROW(nice_step(std::numeric_limits<double>::infinity()), std::invalid_argument);
}

TEST(Ticks, TimeLabelsShareTheUnitOfTheRange) {
  EXPECT_EQ(labels(place_time_ticks(0, 1, 5)),
            (std::vector<std::string>{"0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"}));
  EXPECT_EQ(labels(place_time_ticks(0.012, 0.0121, 2)),
            (std::vector<std::string>{"12.00 ms", "12.05 ms", "12.10 ms"}));
  EXPECT_EQ(labels(place_time_ticks(0, 90e-9, 3)), (std::vector<std::string>{"0 ns", "50 ns"}));
}

TEST(Ticks, PlainLabelsGroupThousandsAndKnowNoMinusZero) {
  EXPECT_EQ(labels(place_ticks(0, 12000, 3)), (std::vector<std::string>{"0", "5,000", "10,000"}));
  EXPECT_EQ(labels(place_ticks(-0.2, 0.2, 4)),
            (std::vector<std::string>{"-0.2", "-0.1", "0.0", "0.1", "0.2"}));
}

TEST(Ticks, StayInsideTheRangeEvenlySpacedAndFew) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-8, 3), share(0, 1);
  for (int i = 0; i < 2000; ++i) {
    const double length = std::pow(10, exponent(random));
    const double begin = (share(random) - 0.3) * 50 * length;
    const int most = 2 + i % 20;
    const std::vector<Tick> ticks = place_time_ticks(begin, begin + length, most);
    ASSERT_LE(ticks.size(), static_cast<std::size_t>(most) + 1);
    for (std::size_t k = 0; k < ticks.size(); ++k) {
      ASSERT_GE(ticks[k].at, begin - length * 1e-6);
      ASSERT_LE(ticks[k].at, begin + length * (1 + 1e-6));
      if (k == 0) continue;
      ASSERT_NE(ticks[k].label, ticks[k - 1].label);
      ASSERT_NEAR(ticks[k].at - ticks[k - 1].at, ticks[1].at - ticks[0].at, length * 1e-6);
    }
  }
}

TEST(Ticks, AnEmptyRangeHasNone) {
  EXPECT_TRUE(place_ticks(1, 1, 5).empty());
  EXPECT_TRUE(place_time_ticks(2, 1, 5).empty());
}

}  // namespace
}  // namespace viewer::ticks_test
