#include "tuner/scenario/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tuner::drift_test {
namespace {

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

/// The mean over pairs of iterations that are `apart`.
double locality(const std::vector<std::vector<double>>& weights, std::size_t apart) {
  double sum = 0;
  for (std::size_t i = apart; i < weights.size(); ++i) {
    sum += cosine(weights[i - apart], weights[i]);
  }
  return sum / static_cast<double>(weights.size() - apart);
}

TEST(Drift, LoadsAreTheMoreAlikeTheNearerIterationsAreAndTheLessDrifts) {
  const auto slow = drifting_weights(32, {1.2, 0.01, 200}, 3),
             quick = drifting_weights(32, {1.2, 0.2, 200}, 3),
             anew = drifting_weights(32, {1.2, 1, 200}, 3);
  EXPECT_GT(locality(slow, 1), 0.9);
  EXPECT_GT(locality(slow, 1), locality(slow, 5) + 0.02);
  EXPECT_GT(locality(slow, 5), locality(slow, 50) + 0.1);
  EXPECT_GT(locality(slow, 1), locality(quick, 1) + 0.1);
  EXPECT_NEAR(locality(anew, 1), locality(anew, 50), 0.05)
      << "nothing is left of the iteration before";
}

TEST(Drift, LateIterationsDriftAsEarlyOnesDo) {
  const auto all = drifting_weights(32, {1.2, 0.05, 400}, 5);
  const std::vector<std::vector<double>> early(all.begin(), all.begin() + 200),
      late(all.begin() + 200, all.end());
  EXPECT_NEAR(locality(early, 1), locality(late, 1), 0.03);
}

TEST(Drift, FewerIterationsAreTheFirstOfMore) {
  const auto few = drifting_weights(8, {1, 0.1, 3}, 1), more = drifting_weights(8, {1, 0.1, 6}, 1);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), more.begin()));
  EXPECT_NE(drifting_weights(8, {1, 0.1, 1}, 2)[0], few[0]) << "the seed decides";
}

}  // namespace
}  // namespace tuner::drift_test
