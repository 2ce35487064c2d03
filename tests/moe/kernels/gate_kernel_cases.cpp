// Cases of gates that choose for a token alone.
#include <cmath>
#include <utility>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

using Cases = std::vector<GradientCase>;

void add_gate(Cases& cases) {
  for (const auto& [tokens, experts, choices, normalize, factor] : {std::tuple{1, 2, 1, false, 1.0},
                                                                    {9, 4, 1, true, 1.0},
                                                                    {17, 8, 2, true, 1.0},
                                                                    {5, 70, 3, false, 1.0},
                                                                    {6, 9, 2, true, 2.5},
                                                                    {7, 9, 2, false, 2.5}}) {
    const SelectExperts select{
        .experts = experts, .choices = choices, .normalize = normalize, .factor = factor};
    HostTensor scores = random_tensor(tokens, experts, 6);
    for (double& score : scores.values) score = 1.5 + score;
    const KernelCase forward =
        select_case(select, random_tensor(tokens, experts, 5, 2), std::move(scores));
    const auto out = reference(forward);
    KernelCase gradient{forward.name + " gradient",
                        SelectExpertsGradient{experts, choices, normalize, factor},
                        {random_tensor(tokens, choices, 6), forward.reads[1], out[0], out[1]},
                        {blank(tokens, experts)}};
    cases.push_back({forward, 1, gradient, 0, {1}});
  }
}

void add_noise(Cases& cases) {
  for (const auto& [tokens, experts] : {std::pair{1, 1}, {9, 5}, {40, 70}}) {
    const Draw draw{3, tokens, 100};
    KernelCase forward{
        "add_noise " + std::to_string(tokens) + "x" + std::to_string(experts),
        AddNoise{draw},
        {random_tensor(tokens, experts, 1), random_tensor(tokens, experts, 2, 4), step_number(6)},
        {blank(tokens, experts)}};
    KernelCase gradient{forward.name + " gradient",
                        AddNoiseGradient{draw},
                        {random_tensor(tokens, experts, 3), forward.reads[1], forward.reads[2]},
                        {blank(tokens, experts)}};
    cases.push_back({forward, 0, gradient, 0, {1}});
  }
}

void add_cosine(Cases& cases) {
  for (const auto& [tokens, experts, rank, learned] :
       {std::tuple{1, 1, 2, true}, {13, 6, 3, true}, {7, 70, 40, false}}) {
    KernelCase forward{"cosine_logits " + std::to_string(tokens) + "x" + std::to_string(experts) +
                           " in " + std::to_string(rank),
                       CosineLogits{0.3},
                       {random_tensor(tokens, rank, 1, 2), random_tensor(experts, rank, 2)},
                       {blank(tokens, experts), blank(tokens, 1), blank(experts, 1)}};
    if (learned) forward.reads.push_back({1, 1, {0.25}});
    const auto out = reference(forward);
    KernelCase input{forward.name + " input gradient",
                     CosineLogitsInputGradient{0.3},
                     {random_tensor(tokens, experts, 3), out[0], forward.reads[0], forward.reads[1],
                      out[1], out[2]},
                     {blank(tokens, rank)}};
    if (learned) input.reads.push_back(forward.reads[2]);
    KernelCase weight{forward.name + " weight gradient",
                      CosineLogitsWeightGradient{0.3},
                      input.reads,
                      {blank(experts, rank)}};
    if (learned) weight.writes.push_back(blank(1, 1));
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 0, learned ? std::vector{1, 2} : std::vector{1}});
  }
}

void add_router_z_loss(Cases& cases) {
  for (const auto& [tokens, experts] : {std::pair{1, 2}, {13, 7}, {6, 100}}) {
    const std::int64_t global_tokens = 3 * tokens;
    KernelCase forward{"router_z_loss " + std::to_string(tokens) + "x" + std::to_string(experts),
                       RouterZLoss{global_tokens},
                       {random_tensor(tokens, experts, 1, 4)},
                       {blank(1, 1), blank(tokens, 1)}};
    const auto out = reference(forward);
    const HostTensor nothing{tokens, experts,
                             std::vector<double>(static_cast<std::size_t>(tokens * experts), 0.0)};
    KernelCase gradient{forward.name + " gradient",
                        RouterZLossGradient{1, global_tokens},
                        {forward.reads[0], out[1], nothing},
                        {nothing}};
    cases.push_back({forward, 0, gradient, -1, {0}});
  }
}

/// Parts of the batch, one after the other.
std::vector<Step> in_parts(int parts) {
  std::vector<Step> steps;
  for (int part = 0; part < parts; ++part) {
    steps.push_back({.part = {part, parts}, .accumulate = part > 0});
  }
  return steps;
}

}  // namespace

std::vector<GradientCase> gate_gradient_cases() {
  Cases cases;
  add_gate(cases);
  add_noise(cases);
  add_cosine(cases);
  add_router_z_loss(cases);
  return cases;
}

std::vector<KernelCase> gate_cases() {
  std::vector<KernelCase> cases;
  for (const auto& [experts, choices, groups, capacity] :
       {std::tuple{4, 1, 1, 3}, {4, 2, 3, 2}, {7, 2, 2, 100}, {40, 2, 1, 1}}) {
    const HostTensor logits = random_tensor(60, experts, 8, 2);
    cases.push_back(softmax_case(logits));
    cases.push_back(select_case({experts, choices, choices > 1, groups, capacity}, logits,
                                random_tensor(60, experts, 9)));
  }
  for (const Drop drop : {Drop::choice, Drop::position, Drop::probability}) {
    for (const int parts : {1, 3}) {
      if (drop != Drop::position && parts > 1) continue;
      KernelCase select = select_case({.experts = 7,
                                       .choices = 3,
                                       .normalize = true,
                                       .capacity_groups = 2,
                                       .capacity = 5,
                                       .drop = drop,
                                       .even = drop == Drop::position},
                                      random_tensor(60, 7, 8, 2), random_tensor(60, 7, 9));
      select.name += " by " + std::string(drop_name(drop)) + " in " + std::to_string(parts);
      select.steps = in_parts(parts);
      cases.push_back(std::move(select));
    }
  }
  for (const auto& [experts, choices] : {std::pair{7, 3}, {40, 4}}) {
    HostTensor rankings = random_tensor(60, experts, 8, 2);
    const std::size_t all_of_last = rankings.values.size() - static_cast<std::size_t>(experts);
    for (std::size_t i = 0; i < rankings.values.size(); ++i) {
      if (i % 3 == 0 || i >= all_of_last) rankings.values[i] = std::nan("");
    }
    KernelCase select = select_case({.experts = experts, .choices = choices, .capacity = 20},
                                    rankings, random_tensor(60, experts, 9));
    select.name += " with NaN";
    cases.push_back(std::move(select));
  }
  for (const int parts : {1, 3}) {
    const auto chosen = reference(select_case({.experts = 7, .choices = 3, .capacity = 20},
                                              random_tensor(60, 7, 8, 2), random_tensor(60, 7, 9)));
    cases.push_back({"split_selection in " + std::to_string(parts),
                     SplitSelection{.experts = 7, .choices = 3},
                     {chosen[0], chosen[2]},
                     {blank_integers(60, 3), blank_integers(1, 8), blank_integers(1, 7)},
                     in_parts(parts)});
  }
  cases.push_back({"add_noise, quiet",
                   AddNoise{{}, true},
                   {random_tensor(5, 4, 1), random_tensor(5, 4, 2), step_number(1)},
                   {blank(5, 4)}});
  for (const auto& [experts, groups, best, counted] :
       {std::tuple{4, 1, 1, 1}, {12, 4, 2, 2}, {256, 8, 4, 2}, {6, 3, 1, 1}}) {
    cases.push_back({"keep_best_groups of " + std::to_string(experts),
                     KeepBestGroups{groups, best, counted},
                     {random_tensor(9, experts, 1)},
                     {blank(9, experts), blank(9, groups)}});
  }
  for (const auto& [tokens, experts, groups, rounds] :
       {std::tuple{6, 3, 1, 1}, {12, 5, 3, 4}, {600, 16, 2, 8}, {8, 256, 1, 2}, {5, 4, 1, 0}}) {
    cases.push_back(
        {"balance_ranking of " + std::to_string(tokens) + " x " + std::to_string(experts),
         BalanceRanking{groups, rounds},
         {random_tensor(tokens, experts, 1, 2)},
         {blank(tokens, experts), blank(tokens, 1), blank(groups, experts)}});
  }
  cases.push_back({"draw_ranking", DrawRanking{{5, 2, 300}}, {step_number(9)}, {blank(33, 7)}});
  cases.push_back(
      {"hash_tokens", HashTokens{5, 2}, {random_integers(33, 1, 1, 50)}, {blank(33, 7)}});
  cases.push_back({"add_expert_bias",
                   AddExpertBias{},
                   {random_tensor(12, 5, 1), random_tensor(1, 5, 2)},
                   {blank(12, 5)}});
  const std::vector<Step> twice{{}, {.accumulate = true}};
  const HostTensor demand = random_integers(1, 9, 1, 5);
  cases.push_back({"sum_expert_loads", SumExpertLoads{}, {demand}, {blank(1, 9)}, twice});
  cases.push_back({"adjust_expert_bias",
                   AdjustExpertBias{0.01},
                   {{1, 9, demand.values}},
                   {random_tensor(1, 9, 2)}});
  for (const auto& [tokens, experts, choices] : {std::tuple{5, 3, 1}, {200, 8, 2}}) {
    const Gated gated =
        softmax_gated({experts, choices, choices > 1}, random_tensor(tokens, experts, 9, 2));
    cases.push_back({"load_balancing_loss " + std::to_string(tokens),
                     LoadBalancingLoss{experts, choices, tokens},
                     {gated.probabilities, gated.demand},
                     {blank(1, 1)}});
    const HostTensor d_scores = random_tensor(tokens, experts, 4);
    cases.push_back({"load_balancing_loss_gradient " + std::to_string(tokens),
                     LoadBalancingLossGradient{experts, choices, 0.5, tokens},
                     {gated.demand, d_scores},
                     {d_scores}});
    cases.push_back({"load_balancing_loss that normalizes " + std::to_string(tokens),
                     LoadBalancingLoss{experts, choices, tokens, true},
                     {gated.probabilities, gated.demand},
                     {blank(1, 1)}});
    cases.push_back({"load_balancing_loss_gradient that normalizes " + std::to_string(tokens),
                     LoadBalancingLossGradient{experts, choices, 0.5, tokens},
                     {gated.demand, d_scores, gated.probabilities},
                     {d_scores}});
    cases.push_back({"softmax_gate_gradient " + std::to_string(tokens),
                     SoftmaxGateGradient{experts, choices, 0.5, tokens, choices > 1},
                     {random_tensor(tokens, choices, 3), gated.probabilities, gated.expert,
                      gated.weight, gated.demand},
                     {blank(tokens, experts)}});
  }
  return cases;
}

HostTensor step_number(int step) { return {1, 1, {static_cast<double>(step)}, true}; }

KernelCase softmax_case(HostTensor logits) {
  HostTensor probabilities = blank(logits.rows, logits.columns);
  return {"softmax " + std::to_string(logits.rows) + "x" + std::to_string(logits.columns),
          Softmax{},
          {std::move(logits)},
          {std::move(probabilities)}};
}

KernelCase select_case(const SelectExperts& select, HostTensor ranking, HostTensor scores) {
  const std::int64_t tokens = ranking.rows;
  std::string name = "select_experts " + std::to_string(tokens) + "x" +
                     std::to_string(select.experts) + " k=" + std::to_string(select.choices);
  if (select.capacity) {
    name += " capacity " + std::to_string(*select.capacity) + " in " +
            std::to_string(select.capacity_groups) + " groups";
  }
  return {name,
          select,
          {std::move(ranking), std::move(scores)},
          {blank_integers(tokens, select.choices), blank(tokens, select.choices),
           blank_integers(tokens, select.choices), blank_integers(1, select.experts + 1),
           blank_integers(1, select.experts), blank_integers(1, select.experts)}};
}

Gated softmax_gated(const SelectExperts& select, const HostTensor& logits) {
  const HostTensor probabilities = reference(softmax_case(logits)).front();
  const auto out = reference(select_case(select, logits, probabilities));
  return {probabilities, out[0], out[1], out[2], out[3], out[4]};
}

}  // namespace moe::test
