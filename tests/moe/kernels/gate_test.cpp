// The gate against a second, plain implementation of the rules of ops/gate.h.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::kernels_gate_test {
namespace {

struct Expected {
  std::vector<double> expert, weight, slot, offsets, demand;
};

/// (token, choice) of a group in the order in which they reach their experts.
std::vector<std::pair<int, int>> order_of(Drop drop, int begin, int end, int k,
                                          const std::vector<double>& priority) {
  std::vector<int> tokens(static_cast<std::size_t>(end - begin));
  std::iota(tokens.begin(), tokens.end(), begin);
  if (drop == Drop::probability) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](int a, int b) { return priority[a] > priority[b]; });
  }
  std::vector<std::pair<int, int>> order;
  const bool by_token = drop == Drop::position;
  for (int outer = 0; outer < (by_token ? end - begin : k); ++outer) {
    for (int inner = 0; inner < (by_token ? k : end - begin); ++inner) {
      order.emplace_back(tokens[by_token ? outer : inner], by_token ? inner : outer);
    }
  }
  return order;
}

Expected gate_by_the_rules(const SelectExperts& gate, const HostTensor& logits) {
  const int tokens = static_cast<int>(logits.rows), experts = gate.experts, k = gate.choices;
  std::vector<std::vector<int>> chosen(tokens);
  std::vector<std::vector<bool>> kept(tokens, std::vector<bool>(k, false));
  Expected result;
  std::vector<double> priority;
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
    priority.push_back(std::exp(logit[chosen[t][0]]) / all);
    for (const int e : chosen[t]) {
      result.expert.push_back(e);
      result.weight.push_back(gate.even ? 1.0 / k
                                        : std::exp(logit[e]) / (gate.normalize ? some : all));
    }
  }
  const int per_group = tokens / gate.capacity_groups;
  for (int group = 0; group < gate.capacity_groups; ++group) {
    std::vector<std::int64_t> taken(experts, 0);
    for (const auto& [t, choice] :
         order_of(gate.drop, group * per_group, (group + 1) * per_group, k, priority)) {
      const int e = chosen[t][choice];
      kept[t][choice] = !gate.capacity || taken[e] < *gate.capacity;
      if (kept[t][choice]) ++taken[e];
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
    gate.choices = 1 + static_cast<int>(random() % static_cast<unsigned>(gate.experts));
    gate.normalize = random() % 2 == 0;
    gate.even = random() % 4 == 0 && !gate.normalize;
    gate.drop = static_cast<Drop>(random() % 3);
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

/// NaN ranks below every number, ties among NaN go to the lower expert, and so a token never asks
/// an expert twice.
TEST(KernelGate, ChoosesDifferentExpertsAmongRankingsThatAreNaN) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto backend = make_cpu_backend(1);
  const HostTensor rankings{4, 5, {nan, 1,   nan,       2,         nan,          //
                                   nan, nan, nan,       nan,       nan,          //
                                   nan, 0,   -infinity, -infinity, infinity,     //
                                   3,   nan, 1,         2,         -infinity}};  //
  const HostTensor scores = random_tensor(4, 5, 1);
  const KernelCase kernel = select_case({.experts = 5, .choices = 5}, rankings, scores);
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(run_case(*backend, kernel, dtype)[0].values, (std::vector<double>{3, 1, 0, 2, 4,  //
                                                                                0, 1, 2, 3, 4,  //
                                                                                4, 1, 2, 3, 0,  //
                                                                                0, 3, 2, 4, 1}));
  }
  const KernelCase two = select_case({.experts = 5, .choices = 2}, rankings, scores);
  EXPECT_EQ(run_case(*backend, two, DType::f32)[0].values,
            (std::vector<double>{3, 1, 0, 1, 4, 1, 0, 3}));
}

TEST(KernelGate, FollowsTheRulesForMoreExpertsThanAWarpHasInHand) {
  expect_by_the_rules({.experts = 1500, .choices = 3, .capacity = 1},
                      random_tensor(40, 1500, 1, 2));
}

/// The slots in parts, given those of the whole: every part numbers the copies of each expert that
/// it keeps itself. `kept`: [expert], the copies that the last part keeps.
std::vector<double> slots_of_parts(const std::vector<HostTensor>& whole, int parts,
                                   std::vector<double>& kept) {
  const auto& experts = whole[0].values;
  std::vector<double> slots = whole[2].values, before(kept.size(), 0);
  const std::size_t part = slots.size() / static_cast<std::size_t>(parts);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i % part == 0) {
      for (std::size_t e = 0; e < kept.size(); ++e) before[e] += std::exchange(kept[e], 0);
    }
    if (slots[i] < 0) continue;
    const auto e = static_cast<std::size_t>(experts[i]);
    slots[i] -= before[e];
    ++kept[e];
  }
  return slots;
}

/// Capacity passing: part after part, choices, drops and counts are those of the whole.
TEST(KernelGate, InPiecesKeepsAndDropsWhatTheWholeDoes) {
  const auto backend = make_cpu_backend(1);
  std::mt19937 random(5);
  int dropped = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SelectExperts gate;
    gate.experts = 1 + static_cast<int>(random() % 9);
    gate.choices = 1 + static_cast<int>(random() % static_cast<unsigned>(gate.experts));
    gate.capacity_groups = 1 + static_cast<int>(random() % 4);
    gate.drop = static_cast<Drop>(random() % 3);
    const int tokens = (random() % 2 ? 24 : 35) * (1 + static_cast<int>(random() % 4));
    if (random() % 4 != 0) gate.capacity = random() % 10;
    KernelCase kernel = select_case(gate, random_tensor(tokens, gate.experts, random(), 2),
                                    random_tensor(tokens, gate.experts, random()));
    SCOPED_TRACE(kernel.name + " by " + std::string(drop_name(gate.drop)));
    const auto whole = run_case(*backend, kernel, DType::f64);
    for (int parts = 2; parts <= 8; ++parts) {
      if (tokens % parts != 0) continue;
      kernel.steps.clear();
      for (int part = 0; part < parts; ++part) {
        kernel.steps.push_back({.part = {part, parts}, .accumulate = part > 0});
      }
      if (gate.refusal_to_cut()) {
        EXPECT_THROW(run_case(*backend, kernel, DType::f64), std::logic_error);
        continue;
      }
      const auto cut = run_case(*backend, kernel, DType::f64);
      for (const std::size_t same : {0, 1, 4, 5}) {
        EXPECT_EQ(cut[same].values, whole[same].values) << parts << " parts, output " << same;
      }
      std::vector<double> kept(static_cast<std::size_t>(gate.experts), 0);
      EXPECT_EQ(cut[2].values, slots_of_parts(whole, parts, kept)) << parts << " parts";
      for (std::size_t e = 0; e < kept.size(); ++e) {
        EXPECT_EQ(cut[3].values[e + 1] - cut[3].values[e], kept[e]);
      }
      dropped += static_cast<int>(std::count(whole[2].values.begin(), whole[2].values.end(), -1.0));
    }
  }
  EXPECT_GT(dropped, 1000);
}

TEST(KernelGate, ServesTokensOfHighScoreFirst) {
  // One expert with room for two of five tokens; of equal ones the earlier.
  const HostTensor scores{5, 1, {0.25, 0.5, 0.75, 0.5, 0.125}};
  const auto backend = make_cpu_backend(1);
  const auto out =
      run_case(*backend,
               select_case({.experts = 1, .choices = 1, .capacity = 2, .drop = Drop::probability},
                           scores, scores),
               DType::f32);
  EXPECT_EQ(out[2].values, (std::vector<double>{-1, 0, 1, -1, -1}));
}

TEST(KernelGate, ByPositionServesAllChoicesOfATokenBeforeTheNextToken) {
  // As below, but token 0's second choice comes before token 1's first.
  const HostTensor logits{3, 3, {2, 1, 0, 0, 2, 1, 0, 2, 1}};
  const auto backend = make_cpu_backend(1);
  const auto out =
      run_case(*backend,
               select_case({.experts = 3, .choices = 2, .capacity = 2, .drop = Drop::position},
                           logits, logits),
               DType::f64);
  EXPECT_EQ(out[2].values, (std::vector<double>{0, 0, 1, 0, -1, 1}));
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
}  // namespace moe::test::kernels_gate_test
