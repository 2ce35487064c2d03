#include "db/console/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace db::statistics_test {
namespace {

TEST(Mean, OfSomeValuesAndNotOfNone) {
  EXPECT_EQ(mean(std::vector<double>{1, 2, 6}), 3);
  EXPECT_THROW(mean({}), std::invalid_argument);
}

TEST(Median, OfEvenAndOddCounts) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

TEST(Median, ItsErrorWorkedByHand) {
  // Median 10, deviations 1 0 0 1 8 -> MAD 1: 1.2533 * 1.4826 / sqrt(5) / 10.
  EXPECT_NEAR(relative_error_of_median({9, 10, 10, 11, 18}), 0.083098, 1e-6);
  EXPECT_TRUE(std::isinf(relative_error_of_median({1, 2})));
  EXPECT_EQ(relative_error_of_median({5, 5, 5}), 0);
}

TEST(StudentT, IsThatOfTables) {
  EXPECT_NEAR(student_t(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t(4), 2.776, 1e-3);
  EXPECT_NEAR(student_t(5), 2.571, 1e-3);
  EXPECT_NEAR(student_t(10), 2.228, 1e-3);
  EXPECT_NEAR(student_t(1000), 1.962, 1e-3);
  EXPECT_NEAR(student_t(1, 0.6827), 1.837, 1e-3);
  EXPECT_NEAR(student_t(2, 0.6827), 1.321, 1e-3);
  EXPECT_NEAR(student_t(1000, 0.6827), 1.000, 1e-3);
  EXPECT_NEAR(student_t(1, 0.99), 63.657, 1e-3);
  EXPECT_NEAR(student_t(1, 0.999), 636.619, 1e-3);
  EXPECT_THROW(student_t(0), std::invalid_argument);
  EXPECT_THROW(student_t(3, 1), std::invalid_argument);
}

TEST(Quantile, LiesBetweenNeighboursInProportion) {
  EXPECT_EQ(quantile({1, 2, 4}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2, 4}, 0.75), 3);
  EXPECT_EQ(quantile({1, 2, 4}, 0), 1);
  EXPECT_EQ(quantile({1, 2, 4}, 1), 4);
  EXPECT_EQ(quantile({5}, 0.95), 5);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
}

TEST(Quantiles, AreTheValuesThemselvesWhereTheseAreFew) {
  EXPECT_EQ(quantiles_of({3, 1, 2}), (std::vector<double>{1, 2, 3}));
  std::vector<double> many;
  for (int i = 1000; i >= 0; --i) many.push_back(i);
  const std::vector<double> quantiles = quantiles_of(many);
  ASSERT_EQ(quantiles.size(), 101u);
  EXPECT_EQ(quantiles[0], 0);
  EXPECT_EQ(quantiles[37], 370);
  EXPECT_EQ(quantiles[100], 1000);
}

}  // namespace
}  // namespace db::statistics_test
