#include "db/console/statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace db::statistics_test {
namespace {

TEST(Median, OfEvenAndOddCounts) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

}  // namespace
}  // namespace db::statistics_test
