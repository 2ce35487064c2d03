// Shapes that reach what small ones do not: several blocks of queries, wide rows, many teams.
#include <tuple>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

/// Hundreds of experts of a rank, some without rows: more than one grouped product takes.
void add_many_experts(std::vector<KernelCase>& cases) {
  const int experts = 250, inputs = 7, outputs = 10;
  std::vector<RowRange> ranges;
  std::int64_t rows = 0;
  for (int expert = 0; expert < experts; ++expert) {
    ranges.push_back({rows, expert * 5 % 4});
    rows += ranges.back().rows;
  }
  const HostTensor x = random_tensor(rows, inputs, 1), dy = random_tensor(rows, outputs, 4),
                   weight = random_tensor(experts * inputs, outputs, 2);
  const std::vector<Step> steps{{.ranges = ranges}};
  cases.push_back({"expert_linear of many experts",
                   ExpertLinear{experts},
                   {x, weight, random_tensor(experts, outputs, 3)},
                   {blank(rows, outputs)},
                   steps});
  cases.push_back({"expert_linear of many experts, input gradient",
                   ExpertLinearInputGradient{experts},
                   {dy, weight},
                   {sized_like(x)},
                   steps});
  cases.push_back({"expert_linear of many experts, weight gradient",
                   ExpertLinearWeightGradient{experts},
                   {x, dy},
                   {sized_like(weight), blank(experts, outputs)},
                   steps});
}

}  // namespace

std::vector<KernelCase> large_kernel_cases() {
  std::vector<KernelCase> cases;
  // Several tiles of queries and of keys, on a processor and on a device.
  const int length = 1100, head_width = 3;
  for (const int key_value_heads : {4, 2}) {
    const int heads = 4;
    KernelCase forward =
        attention_case({heads, length, key_value_heads},
                       random_tensor(length, (heads + 2 * key_value_heads) * head_width, 1, 2));
    forward.name = "attention of several tiles, 4 over " + std::to_string(key_value_heads);
    cases.push_back(attention_gradient_case(forward, random_tensor(length, heads * head_width, 2),
                                            reference(forward)));
    cases.push_back(std::move(forward));
  }

  add_many_experts(cases);

  // A longer k than one panel of a product on a processor has, and rows enough for three threads.
  const HostTensor dy = random_tensor(300, 1000, 1), weight = random_tensor(120, 1000, 2);
  cases.push_back({"linear of a long k, input gradient",
                   LinearInputGradient{},
                   {dy, weight},
                   {blank(300, 120)}});
  cases.push_back({"linear of a long k",
                   Linear{},
                   {dy, random_tensor(1000, 120, 3), random_tensor(1, 120, 4)},
                   {blank(300, 120)}});

  const int vocabulary = 50'000, tokens = 12;
  const HostTensor ids = random_integers(tokens, 1, 2, vocabulary);
  cases.push_back({"cross_entropy of a large vocabulary",
                   CrossEntropy{tokens},
                   {random_tensor(tokens, vocabulary, 1, 4), ids},
                   {blank(1, 1), blank(tokens, 1)}});
  const HostTensor log_sum_exp = reference(cases.back())[1];
  cases.push_back({"cross_entropy of a large vocabulary, gradient",
                   CrossEntropyGradient{tokens},
                   {cases.back().reads[0], ids, log_sum_exp},
                   {blank(tokens, vocabulary)}});
  cases.push_back({"embed of a large vocabulary",
                   EmbedTokens{{tokens}},
                   {ids, random_tensor(vocabulary, 8, 3), random_tensor(tokens, 8, 4)},
                   {blank(tokens, 8)}});
  cases.push_back({"embed of a large vocabulary, gradient",
                   EmbedTokensGradient{{tokens}},
                   {ids, random_tensor(tokens, 8, 5)},
                   {blank(vocabulary, 8), blank(tokens, 8)}});

  // More ids than a device deals them into shares: those of a share are sorted by one more bit.
  HostTensor of_one_share = random_integers(300, 1, 7, 700);
  for (int i = 0; i < 200; ++i) of_one_share.values[3 * i / 2] = i % 3 == 0 ? 519 : 7;
  cases.push_back({"embed of many ids, gradient",
                   EmbedTokensGradient{{300}},
                   {of_one_share, random_tensor(300, 8, 8)},
                   {blank(700, 8), blank(300, 8)}});

  // Thousands of tokens: a block of threads an expert. Hundreds of experts, with more tokens than
  // a block has threads. Both at once would take a device in software long.
  const int choices = 2;
  for (const auto& [many, experts, capacity] : {std::tuple{4099, 12, std::optional<std::int64_t>()},
                                                {1100, 300, std::optional<std::int64_t>(4)}}) {
    const SelectExperts select{experts, choices, true, capacity ? 2 : 1, capacity};
    const HostTensor logits = random_tensor(many, experts, 6, 2);
    const Gated gated = softmax_gated(select, logits);
    cases.push_back(softmax_case(logits));
    cases.push_back(select_case(select, logits, gated.probabilities));
    const std::string name = cases.back().name;
    cases.push_back(
        {name + ", gradient",
         SelectExpertsGradient{experts, choices, true},
         {random_tensor(many, choices, 9), gated.probabilities, gated.expert, gated.weight},
         {blank(many, experts)}});
    cases.push_back({name + ", softmax gate gradient",
                     SoftmaxGateGradient{experts, choices, 0.5, many, true},
                     {random_tensor(many, choices, 7), gated.probabilities, gated.expert,
                      gated.weight, gated.demand},
                     {blank(many, experts)}});
    cases.push_back({name + ", permute",
                     Permute{choices},
                     {random_tensor(many, 5, 8), gated.expert, gated.slot, gated.offsets},
                     {blank(static_cast<std::int64_t>(gated.offsets.values.back()), 5)}});
    cases.push_back(
        {name + ", split",
         SplitSelection{experts, choices},
         {gated.expert, gated.slot},
         {sized_like(gated.slot), sized_like(gated.offsets), sized_like(gated.demand)}});
    for (HostTensor& dealt : cases.back().writes) dealt.integer = true;
  }
  // Several tiles of tokens that share one capacity.
  for (const Drop drop : {Drop::choice, Drop::position}) {
    cases.push_back(
        select_case({.experts = 40, .choices = 3, .normalize = true, .capacity = 150, .drop = drop},
                    random_tensor(2500, 40, 6, 2), random_tensor(2500, 40, 7)));
    cases.back().name += " in one group by " + std::string(drop_name(drop));
  }
  for (const Drop drop : {Drop::position, Drop::probability}) {
    cases.push_back(select_case({.experts = 300,
                                 .choices = 3,
                                 .normalize = true,
                                 .capacity_groups = 2,
                                 .capacity = 6,
                                 .drop = drop},
                                random_tensor(1100, 300, 6, 2), random_tensor(1100, 300, 7)));
    cases.back().name += " by " + std::string(drop_name(drop));
  }
  return cases;
}

}  // namespace moe::test
