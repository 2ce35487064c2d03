#include "tuner/planners/gradients/weight_gradient_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>

namespace tuner::weight_gradient_places_test {
namespace {

using ::testing::ElementsAre;

TEST(AssignWeightGradients, TakesTheNearestUntilTheExchangeIsCovered) {
  // 5 left: 4 is nearest, then 1 of the rest; the second exchange takes as much as it can.
  const std::vector<double> exchanges{5, 2};
  const std::vector<WeightGradient> gradients{{1, {0, 1}}, {4, {0, 1}}, {9, {0, 1}}, {2, {1}}};
  EXPECT_THAT(assign_weight_gradients(exchanges, gradients), ElementsAre(0, 0, 1, 1));
}

TEST(AssignWeightGradients, StopsWhereTheNearestTakesMoreThanTwiceWhatIsLeft) {
  const std::vector<double> exchanges{5, 5};
  const std::vector<WeightGradient> gradients{{4, {0, 1}}, {3, {0, 1}}};
  EXPECT_THAT(assign_weight_gradients(exchanges, gradients), ElementsAre(0, 1));
}

TEST(AssignWeightGradients, TakesWhatHasNoLaterChanceAndLeavesWhatHasNone) {
  const std::vector<double> exchanges{1, 1};
  const std::vector<WeightGradient> gradients{{1, {0}}, {7, {0}}, {7, {}}, {1, {0, 1}}};
  EXPECT_THAT(assign_weight_gradients(exchanges, gradients), ElementsAre(0, 0, -1, 1));
}

struct Instance {
  std::vector<double> exchanges;
  std::vector<WeightGradient> gradients;
};

Instance random_instance(std::mt19937& random) {
  std::uniform_real_distribution<double> time(0.1, 4);
  Instance instance;
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) instance.exchanges.push_back(time(random));
  for (std::size_t j = 0; j < random() % 7; ++j) {
    WeightGradient gradient{time(random) / 2, {}};
    for (std::size_t i = 0; i < instance.exchanges.size(); ++i) {
      if (random() % 3 > 0) gradient.may_overlap.push_back(static_cast<int>(i));
    }
    instance.gradients.push_back(std::move(gradient));
  }
  return instance;
}

/// The time of exchanges that no gradient covers: the sum of max(0, exchange - its gradients). The
/// paper's integer program minimises it. [Lancet 4.2, printed]
double uncovered_s(const std::vector<double>& exchange_s,
                   const std::vector<WeightGradient>& gradients,
                   const std::vector<int>& assignment) {
  std::vector<double> left_s = exchange_s;
  for (std::size_t j = 0; j < gradients.size(); ++j) {
    if (assignment[j] >= 0) {
      left_s[static_cast<std::size_t>(assignment[j])] -= gradients[j].seconds;
    }
  }
  double sum_s = 0;
  for (const double left : left_s) sum_s += std::max(0.0, left);
  return sum_s;
}

/// The integer program's optimum, by trying all assignments.
double least_uncovered_s(const Instance& instance, std::vector<int>& assignment, std::size_t next) {
  if (next == assignment.size()) {
    return uncovered_s(instance.exchanges, instance.gradients, assignment);
  }
  assignment[next] = -1;
  double least = least_uncovered_s(instance, assignment, next + 1);
  for (const int exchange : instance.gradients[next].may_overlap) {
    assignment[next] = exchange;
    least = std::min(least, least_uncovered_s(instance, assignment, next + 1));
  }
  return least;
}

TEST(AssignWeightGradients, IsLegalNeverBetterThanTheOptimumAndMostlyNearIt) {
  std::mt19937 random(3);
  double greedy_s = 0, optimum_s = 0, alone_s = 0;
  for (int i = 0; i < 2000; ++i) {
    const Instance instance = random_instance(random);
    const auto assignment = assign_weight_gradients(instance.exchanges, instance.gradients);
    ASSERT_EQ(assignment.size(), instance.gradients.size());
    for (std::size_t j = 0; j < assignment.size(); ++j) {
      const auto& may = instance.gradients[j].may_overlap;
      if (assignment[j] >= 0) {
        EXPECT_TRUE(std::binary_search(may.begin(), may.end(), assignment[j]));
      } else {
        EXPECT_TRUE(may.empty());
      }
    }
    std::vector<int> tried(instance.gradients.size(), -1);
    const double best = least_uncovered_s(instance, tried, 0);
    const double greedy = uncovered_s(instance.exchanges, instance.gradients, assignment);
    EXPECT_GE(greedy, best - 1e-12);
    greedy_s += greedy;
    optimum_s += best;
    alone_s += uncovered_s(instance.exchanges, instance.gradients,
                           std::vector<int>(instance.gradients.size(), -1));
  }
  // The share of the possible overlap that the greedy assignment reaches.
  EXPECT_GT((alone_s - greedy_s) / (alone_s - optimum_s), 0.9);
}

}  // namespace
}  // namespace tuner::weight_gradient_places_test
