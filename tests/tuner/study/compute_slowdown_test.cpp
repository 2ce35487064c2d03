#include "tuner/study/compute_slowdown.h"

#include <gtest/gtest.h>

namespace tuner::compute_slowdown_test {
namespace {

TEST(ComputeSlowdown, IsOfTheRankThatWasSlowedMost) {
  const std::map<int, double> trial{{0, 1.1}, {1, 1.4}};
  EXPECT_DOUBLE_EQ(*compute_slowdown(trial, {{0, 1}, {1, 1}}), 1.4);
  // The one that is always slower has not been slowed.
  EXPECT_DOUBLE_EQ(*compute_slowdown(trial, {{0, 1}, {1, 1.4}}), 1.1);
}

TEST(ComputeSlowdown, IsNoneWithoutARankInBoth) {
  EXPECT_FALSE(compute_slowdown({{0, 1}}, {{2, 1}}));
  EXPECT_FALSE(compute_slowdown({}, {}));
}

}  // namespace
}  // namespace tuner::compute_slowdown_test
