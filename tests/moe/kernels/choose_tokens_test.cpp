// Expert Choice against its rule, written down a second time as plainly as it is stated.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::choose_tokens_test {
namespace {

/// slot[T,E] by sorting.
std::vector<double> slots_by_the_rule(const ChooseTokens& choose, const HostTensor& scores) {
  const auto experts = static_cast<std::size_t>(choose.experts);
  const auto size = static_cast<std::size_t>(scores.rows) / static_cast<std::size_t>(choose.groups);
  std::vector<double> slots(scores.values.size(), -1);
  for (std::size_t e = 0; e < experts; ++e) {
    int next = 0;
    for (std::size_t first = 0; first < static_cast<std::size_t>(scores.rows); first += size) {
      std::vector<std::size_t> order(size);
      std::iota(order.begin(), order.end(), first);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return scores.values[a * experts + e] > scores.values[b * experts + e];
      });
      order.resize(static_cast<std::size_t>(choose.slots));
      std::sort(order.begin(), order.end());
      for (const std::size_t token : order) slots[token * experts + e] = next++;
    }
  }
  return slots;
}

void expect_by_the_rule(const ChooseTokens& choose, const HostTensor& scores) {
  const auto backend = make_cpu_backend(1);
  const KernelCase kernel = choose_case(choose, scores);
  SCOPED_TRACE(kernel.name);
  for (const DType real : {DType::f64, DType::f32}) {
    const auto out = run_case(*backend, kernel, real);
    EXPECT_EQ(out[1].values, scores.values);
    EXPECT_EQ(out[2].values, slots_by_the_rule(choose, scores));
    const double rows = static_cast<double>(choose.slots * choose.groups);
    for (int e = 0; e < choose.experts; ++e) {
      EXPECT_EQ(out[0].values[static_cast<std::size_t>(e)], e);
      EXPECT_EQ(out[3].values[static_cast<std::size_t>(e)], rows * e);
      EXPECT_EQ(out[4].values[static_cast<std::size_t>(e)], rows);
    }
    EXPECT_EQ(out[3].values.back(), rows * choose.experts);
  }
}

TEST(KernelChooseTokens, TakesTheTokensOfLargestScoreOnRandomScores) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    ChooseTokens choose;
    choose.experts = 1 + static_cast<int>(random() % 9);
    choose.groups = 1 + static_cast<int>(random() % 4);
    const int size = 1 + static_cast<int>(random() % 50);
    choose.slots = 1 + static_cast<int>(random() % static_cast<unsigned>(size));
    // Scores of both signs, which are all ordered alike.
    expect_by_the_rule(choose, random_tensor(choose.groups * size, choose.experts, random()));
  }
}

TEST(KernelChooseTokens, GivesTiesToTheEarlierToken) {
  HostTensor coarse = random_integers(300, 6, 5, 4);
  coarse.integer = false;
  for (const std::int64_t slots : {1, 17, 99, 100}) {
    expect_by_the_rule({.experts = 6, .slots = slots, .groups = 3}, coarse);
  }
  expect_by_the_rule({.experts = 2, .slots = 3}, {7, 2, std::vector<double>(14, 0.5)});
}

TEST(KernelChooseTokens, LeavesTokensToNobodyAndGivesOthersToAll) {
  // Expert 0 takes tokens 0 and 2, expert 1 takes 0 and 1: token 3 gets no expert.
  const HostTensor scores{4, 2, {0.9, 0.8, 0.1, 0.7, 0.6, 0.2, 0.5, 0.3}};
  const auto backend = make_cpu_backend(1);
  const auto out = run_case(*backend, choose_case({.experts = 2, .slots = 2}, scores), DType::f32);
  EXPECT_EQ(out[2].values, (std::vector<double>{0, 0, -1, 1, 1, -1, -1, -1}));
}

TEST(KernelChooseTokens, FillsEveryExpertWhenScoresAreNotNumbers) {
  const HostTensor scores{5, 2, std::vector<double>(10, NAN)};
  const auto backend = make_cpu_backend(1);
  const auto out = run_case(*backend, choose_case({.experts = 2, .slots = 3}, scores), DType::f32);
  EXPECT_EQ(
      std::count_if(out[2].values.begin(), out[2].values.end(), [](double s) { return s >= 0; }),
      6);
}

}  // namespace
}  // namespace moe::test::choose_tokens_test
