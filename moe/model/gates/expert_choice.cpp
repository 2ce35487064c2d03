#include "moe/model/gates/gates.h"
#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// p = softmax(x W); every expert takes the c = k f n / E tokens of largest p for it among the n of
/// a capacity group, f the capacity factor: k f is how many experts a token has on average. A token
/// may have none, or all; weights are p as they are.  [Zhou et al. 2022, Eq. 1 and 2] Every expert
/// gets as many tokens as any other: there is no load to balance and no loss for it.
GateOutput build_expert_choice(LayerBuilder& build, TensorId x) {
  const int experts = build.model.experts;
  const Layer logits = gate_logits(build, x);
  const TensorId probabilities = build.wide("gate_probabilities", experts);
  build.op(Softmax{}, "gate softmax", {logits.output}, {probabilities});
  GateOutput gate;
  gate.expert = build.integers("expert", build.tokens, experts);
  gate.weight = build.wide("gate_weight", experts);
  gate.slot = build.integers("slot", build.tokens, experts);
  gate.offsets = build.integers("offsets", 1, experts + 1);
  const TensorId demand = build.integers("demand", 1, experts);
  build.op(ChooseTokens{experts, build.capacity().value(), build.capacity_groups_of_rank()}, "gate",
           {probabilities}, {gate.expert, gate.weight, gate.slot, gate.offsets, demand});
  exchange_counts(build, gate.offsets, demand);
  gate.offsets = padded_offsets(build, gate.offsets);

  gate.backward = [=, &build](TensorId d_weight) {
    // Weights are probabilities, and their gradient is zero where an expert does not take a token.
    const TensorId d_logits = build.wide("d_gate_logits", experts);
    build.op(SoftmaxGradient{}, "gate gradient", {d_weight, probabilities}, {d_logits});
    return logits.backward(d_logits);
  };
  return gate;
}

}  // namespace

Gate expert_choice_gate() {
  return {.description = "every expert takes its tokens of largest score (Expert Choice)",
          .facts = {.scores_tokens = false, .balances = false, .chooser = Chooser::group},
          .build = build_expert_choice};
}

}  // namespace moe
