// SplitSelection against a second, plain implementation of its rule.

#include <gtest/gtest.h>

#include <random>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::split_selection_test {
namespace {

std::vector<double> rows_of_part(const HostTensor& whole, Slice part) {
  const auto at = [&](std::int64_t row) {
    return whole.values.begin() + static_cast<std::ptrdiff_t>(row * whole.columns);
  };
  return {at(slice_begin(whole.rows, part)), at(slice_end(whole.rows, part))};
}

/// `chosen`: expert[T,k], weight, slot[T,k], offsets, demand of the whole. Cuts them into parts.
void expect_dealt_by_the_rule(const SplitSelection& split, const std::vector<HostTensor>& chosen,
                              int parts) {
  const auto backend = make_cpu_backend(1);
  const auto experts = static_cast<std::size_t>(split.experts);
  std::vector<double> demand(experts, 0);
  for (int index = 0; index < parts; ++index) {
    const Slice part{index, parts};
    const std::vector<double> expert = rows_of_part(chosen[0], part),
                              given = rows_of_part(chosen[2], part);
    KernelCase kernel{"split_selection",
                      split,
                      {chosen[0], chosen[2]},
                      {blank_integers(chosen[0].rows, chosen[0].columns),
                       blank_integers(1, split.experts + 1), blank_integers(1, split.experts)},
                      {{.part = part, .accumulate = index > 0}}};
    kernel.writes[2].values = demand;
    const std::vector<HostTensor> out = run_case(*backend, kernel, DType::f64);

    std::vector<double> slots, kept(experts, 0);
    for (std::size_t i = 0; i < expert.size(); ++i) {
      const auto e = static_cast<std::size_t>(expert[i]);
      slots.push_back(given[i] < 0 ? -1 : kept[e]++);
      if (split.drops || given[i] >= 0) ++demand[e];
    }
    EXPECT_EQ(rows_of_part(out[0], part), slots) << part.index << " of " << parts;
    EXPECT_EQ(out[2].values, demand) << part.index << " of " << parts;
    double offset = 0;
    for (std::size_t e = 0; e <= experts; ++e) {
      EXPECT_EQ(out[1].values[e], offset);
      if (e < experts) offset += kept[e];
    }
    if (parts > 1) continue;
    EXPECT_EQ(out[0].values, chosen[2].values);
    EXPECT_EQ(out[1].values, chosen[3].values);
    EXPECT_EQ(out[2].values, chosen[4].values);
  }
  EXPECT_EQ(demand, chosen[4].values) << "all parts ask for what the whole does";
}

/// Divided by any number up to 8.
constexpr int kManyTokens = 840;

TEST(KernelSplitSelection, DealsOutToEachPartItsOwnCopies) {
  std::uint64_t seed = 1;
  for (const Drop drop : {Drop::choice, Drop::position, Drop::probability}) {
    for (const auto& [experts, choices, groups] :
         {std::tuple{1, 1, 1}, {6, 1, 3}, {6, 2, 1}, {9, 5, 4}, {7, 7, 2}}) {
      for (const std::optional<std::int64_t> capacity : {std::optional<std::int64_t>(), {20}}) {
        const HostTensor scores = random_tensor(kManyTokens, experts, ++seed);
        const auto chosen = reference(select_case({.experts = experts,
                                                   .choices = choices,
                                                   .capacity_groups = groups,
                                                   .capacity = capacity,
                                                   .drop = drop},
                                                  scores, scores));
        for (int parts = 1; parts <= 8; ++parts) {
          expect_dealt_by_the_rule({experts, choices}, chosen, parts);
        }
      }
    }
  }
}

TEST(KernelSplitSelection, AsksForNothingThatAnExpertHasNotChosen) {
  for (const auto& [experts, slots, groups] : {std::tuple{1, 1, 1}, {5, 60, 4}, {9, 210, 1}}) {
    const auto chosen =
        reference(choose_case({experts, slots, groups}, random_tensor(kManyTokens, experts, 7)));
    for (int parts = 1; parts <= 8; ++parts) {
      expect_dealt_by_the_rule({.experts = experts, .choices = experts, .drops = false}, chosen,
                               parts);
    }
  }
}

}  // namespace
}  // namespace moe::test::split_selection_test
