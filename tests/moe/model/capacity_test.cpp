#include "moe/model/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace moe::capacity_test {
namespace {

/// ceil(k (numerator / denominator) T / E) in integers.
std::int64_t rational(std::int64_t choices, std::int64_t numerator, std::int64_t denominator,
                      std::int64_t tokens, std::int64_t experts) {
  const std::int64_t shares = denominator * experts;
  return (choices * numerator * tokens + shares - 1) / shares;
}

TEST(ExpertCapacity, IsNotRoundedUpForWhatAFloatAdds) {
  EXPECT_EQ(expert_capacity(2, 1.1, 420, 7), 132);
  EXPECT_EQ(expert_capacity(1, 1.1, 50, 5), 11);
  EXPECT_EQ(expert_capacity(2, 1.25, 256, 8), 80);
  EXPECT_EQ(expert_capacity(2, 1.25, 257, 8), 81);
}

TEST(ExpertCapacity, IsTheRationalOneForAllDecimalsOfUpToThreePlaces) {
  std::int64_t compared = 0;
  for (const std::int64_t places : {1, 10, 100, 1000}) {
    for (std::int64_t numerator = 1; numerator <= 3 * places; numerator += places == 1000 ? 7 : 1) {
      // The division is rounded correctly, so this is the number that the decimal text reads as.
      const double factor = static_cast<double>(numerator) / static_cast<double>(places);
      for (const int choices : {1, 2}) {
        for (const int experts : {1, 2, 3, 5, 7, 8, 9, 16, 60, 64, 127, 256}) {
          for (const std::int64_t tokens : {1, 2, 7, 30, 64, 420, 1000, 4096, 12345, 131072}) {
            const auto wanted = std::clamp<std::int64_t>(
                rational(choices, numerator, places, tokens, experts), 1, tokens);
            ASSERT_EQ(expert_capacity(choices, factor, tokens, experts), wanted)
                << choices << " choices, " << factor << ", " << tokens << " tokens, " << experts;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 100'000);
}

TEST(ExpertCapacity, IsAtLeastOneAndAtMostATokenEach) {
  EXPECT_EQ(expert_capacity(1, 1e-300, 64, 8), 1);
  EXPECT_EQ(expert_capacity(1, std::numeric_limits<double>::denorm_min(), 64, 8), 1);
  EXPECT_EQ(expert_capacity(2, 8, 64, 8), 64);
  EXPECT_EQ(expert_capacity(2, 1e18, 64, 8), 64);
  EXPECT_EQ(expert_capacity(2, std::numeric_limits<double>::max(), 64, 8), 64);
}

TEST(ExpertCapacity, DoesNotOverflowAtItsLimits) {
  const std::int64_t most = std::int64_t{1} << 40;
  EXPECT_EQ(expert_capacity(1, 1.2345678901234567, most, 1), most);
  EXPECT_EQ(expert_capacity(1, 0.12345678901234566, most, 1), 135742175047);
  EXPECT_EQ(expert_capacity(1, 1.2345678901234567e-12, most, 1), 2);
  EXPECT_EQ(expert_capacity(2, 1034567890.1234567, most / 2, std::numeric_limits<int>::max()),
            529698759990);
}

TEST(ExpertCapacity, RefusesWhatIsNoSize) {
  EXPECT_THROW(expert_capacity(1, 0, 64, 8), std::invalid_argument);
  EXPECT_THROW(expert_capacity(1, std::nan(""), 64, 8), std::invalid_argument);
  EXPECT_THROW(expert_capacity(1, std::numeric_limits<double>::infinity(), 64, 8),
               std::invalid_argument);
  EXPECT_THROW(expert_capacity(1, 1, 0, 8), std::invalid_argument);
  EXPECT_THROW(expert_capacity(1, 1, 64, 0), std::invalid_argument);
  EXPECT_THROW(expert_capacity(2, 1, std::int64_t{1} << 40, 8), std::invalid_argument);
}

TEST(RowsOfCapacity, AreNeverMoreThanTheCopiesThatCanExist) {
  // 64 tokens on each of 4 ranks, 8 experts, 2 of each rank.
  EXPECT_EQ(most_rows_sent(16, 1, 8, 2, 64), 128);
  EXPECT_EQ(most_rows_sent(15, 1, 8, 2, 64), 120);
  EXPECT_EQ(most_rows_sent(64, 1, 8, 2, 64), 128);
  EXPECT_EQ(most_rows_received(16, 1, 8, 2, 64, 4), 128);
  EXPECT_EQ(most_rows_received(64, 1, 8, 2, 64, 4), 512);
  EXPECT_EQ(most_rows_received(64, 1, 8, 2, 64, 8), 512) << "one expert gets no second copy";
  EXPECT_EQ(most_rows_received(64, 1, 8, 2, 64, 1), 128);
  EXPECT_EQ(most_rows_received(16, 1, 6, 2, 64, 4), 128) << "two experts of one of the ranks";
}

}  // namespace
}  // namespace moe::capacity_test
