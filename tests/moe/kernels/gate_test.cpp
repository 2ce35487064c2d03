// The gate against the rules of ops/gate.h, written down a second time as plainly as they are stated.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::testing {
namespace {

struct Expected {
  std::vector<double> expert, weight, slot, offsets, demand;
};

Expected gate_by_the_rules(const SelectExperts& gate, const HostTensor& logits) {
  const int tokens = static_cast<int>(logits.rows), experts = gate.experts, k = gate.choices;
  std::vector<std::vector<int>> chosen(tokens);
  std::vector<std::vector<bool>> kept(tokens, std::vector<bool>(k, false));
  Expected result;
  for (int t = 0; t < tokens; ++t) {
    std::vector<double> logit(logits.values.begin() + t * experts,
                              logits.values.begin() + (t + 1) * experts);
    std::vector<int> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logit[a] > logit[b]; });
    chosen[t].assign(order.begin(), order.begin() + k);
    double all = 0, some = 0;
    for (int e = 0; e < experts; ++e) all += std::exp(logit[e]);
    for (const int e : chosen[t]) some += std::exp(logit[e]);
    for (const int e : chosen[t]) {
      result.expert.push_back(e);
      result.weight.push_back(std::exp(logit[e]) / (gate.normalize ? some : all));
    }
  }
  const int per_group = tokens / gate.capacity_groups;
  for (int group = 0; group < gate.capacity_groups; ++group) {
    std::vector<std::int64_t> taken(experts, 0);
    for (int choice = 0; choice < k; ++choice) {
      for (int t = group * per_group; t < (group + 1) * per_group; ++t) {
        const int e = chosen[t][choice];
        kept[t][choice] = !gate.capacity || taken[e] < *gate.capacity;
        if (kept[t][choice]) ++taken[e];
      }
    }
  }
  std::vector<int> next(experts, 0);
  result.demand.assign(experts, 0);
  for (int t = 0; t < tokens; ++t) {
    for (int choice = 0; choice < k; ++choice) {
      const int e = chosen[t][choice];
      ++result.demand[e];
      result.slot.push_back(kept[t][choice] ? next[e]++ : -1);
    }
  }
  result.offsets.assign(1, 0);
  for (const int count : next) result.offsets.push_back(result.offsets.back() + count);
  return result;
}

void expect_by_the_rules(const SelectExperts& gate, const HostTensor& logits) {
  const auto backend = make_cpu_backend(1);
  const HostTensor probabilities = run_case(*backend, softmax_case(logits), DType::f64).front();
  const KernelCase kernel = select_case(gate, logits, probabilities);
  SCOPED_TRACE(kernel.name);
  const Expected expected = gate_by_the_rules(gate, logits);
  for (const DType real : {DType::f64, DType::f32}) {
    const auto actual = run_case(*backend, kernel, real);
    EXPECT_EQ(actual[0].values, expected.expert);
    EXPECT_EQ(actual[2].values, expected.slot);
    EXPECT_EQ(actual[3].values, expected.offsets);
    EXPECT_EQ(actual[4].values, expected.demand);
    EXPECT_LT(relative_difference(actual[1].values, expected.weight), 1e-6);
  }
}

TEST(KernelGate, FollowsTheRulesOnRandomLogits) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    SelectExperts gate;
    gate.experts = 1 + static_cast<int>(random() % 12);
    gate.choices = std::min(gate.experts, 1 + static_cast<int>(random() % 4));
    gate.normalize = random() % 2 == 0;
    gate.capacity_groups = 1 + static_cast<int>(random() % 4);
    const int tokens = gate.capacity_groups * (1 + static_cast<int>(random() % 40));
    if (random() % 3 != 0) gate.capacity = random() % 12;
    expect_by_the_rules(gate, random_tensor(tokens, gate.experts, random(), 2));
  }
}

TEST(KernelGate, GivesTiesToTheLowerExpert) {
  const HostTensor even{6, 5, std::vector<double>(30, 0.5)};
  expect_by_the_rules({.experts = 5, .choices = 2, .capacity = 3}, even);
  // Few distinct values: most rows have ties.
  HostTensor coarse = random_integers(300, 6, 5, 3);
  coarse.integer = false;
  for (const int choices : {1, 2}) {
    expect_by_the_rules({.experts = 6, .choices = choices, .capacity_groups = 3, .capacity = 20},
                        coarse);
  }
}

TEST(KernelGate, PrefersFirstChoicesToEarlierTokens) {
  // Token 0 asks expert 1 second, tokens 1 and 2 ask it first: with room for two, token 0 loses.
  const HostTensor logits{3, 3, {2, 1, 0, 0, 2, 1, 0, 2, 1}};
  const auto backend = make_cpu_backend(1);
  const auto out =
      run_case(*backend, select_case({.experts = 3, .choices = 2, .capacity = 2}, logits, logits),
               DType::f64);
  EXPECT_EQ(out[2].values, (std::vector<double>{0, -1, 0, 0, 1, 1}));
  EXPECT_EQ(out[3].values, (std::vector<double>{0, 1, 3, 5}));
  EXPECT_EQ(out[4].values, (std::vector<double>{1, 3, 2}));
}

TEST(KernelGate, NamesExpertsThatExistWhenLogitsAreNotNumbers) {
  const auto backend = make_cpu_backend(1);
  const HostTensor logits{4, 3, std::vector<double>(12, NAN)};
  const auto out =
      run_case(*backend, select_case({.experts = 3, .choices = 2}, logits, logits), DType::f32);
  for (const double expert : out[0].values) {
    EXPECT_GE(expert, 0);
    EXPECT_LT(expert, 3);
  }
  EXPECT_EQ(out[3].values.back(), 8);
}

}  // namespace
}  // namespace moe::testing
