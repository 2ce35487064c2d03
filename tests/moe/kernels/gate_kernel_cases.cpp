// Cases of gates that choose for a token alone.
#include "tests/moe/kernels/kernel_cases.h"

namespace moe::testing {
namespace {

using Cases = std::vector<GradientCase>;

void add_gate(Cases& cases) {
  for (const auto& [tokens, experts, choices, normalize] :
       {std::tuple{1, 2, 1, false}, {9, 4, 1, true}, {17, 8, 2, true}, {5, 70, 3, false}}) {
    const SelectExperts select{experts, choices, normalize};
    HostTensor scores = random_tensor(tokens, experts, 6);
    for (double& score : scores.values) score = 1.5 + score;
    const KernelCase forward =
        select_case(select, random_tensor(tokens, experts, 5, 2), std::move(scores));
    const auto out = reference(forward);
    KernelCase gradient{forward.name + " gradient",
                        SelectExpertsGradient{experts, choices, normalize},
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

}  // namespace

std::vector<GradientCase> gate_gradient_cases() {
  Cases cases;
  add_gate(cases);
  add_noise(cases);
  add_cosine(cases);
  add_router_z_loss(cases);
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

}  // namespace moe::testing
