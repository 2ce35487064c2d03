#include "moe/train/permutation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace moe::permutation_test {
namespace {

TEST(Permutation, HasEveryPlaceOnce) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 63, 64, 65, 1000}) {
    std::vector<int> seen(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      ++seen.at(static_cast<std::size_t>(permuted(i, count, 7)));
    }
    EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1)) << count;
  }
  EXPECT_THROW(permuted(3, 3, 1), std::invalid_argument);
}

/// Of a random order, a 1000th of the places stay, and neighbours stay neighbours as seldom.
TEST(Permutation, LooksRandomAndChangesWithItsKey) {
  constexpr std::int64_t count = 1000;
  int stay = 0, neighbours = 0, alike = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    stay += permuted(i, count, 1) == i;
    alike += permuted(i, count, 1) == permuted(i, count, 2);
    if (i > 0) neighbours += permuted(i, count, 1) == permuted(i - 1, count, 1) + 1;
  }
  EXPECT_LT(stay, 10);
  EXPECT_LT(neighbours, 10);
  EXPECT_LT(alike, 10);
}

}  // namespace
}  // namespace moe::permutation_test
