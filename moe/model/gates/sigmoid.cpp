#include "moe/model/gates/gates.h"
#include "moe/model/gates/top_k.h"

namespace moe {

/// s = 1 / (1 + e^-xW), each expert for itself; the k experts of largest s, weighted by s for k = 1,
/// by s over the sum of the chosen for more.  [FSMoE 3.1 names it, of BASE and StableMoE]
/// The load-balancing loss takes s where softmax gates have probabilities.
GateOutput sigmoid_gate(LayerBuilder& build, TensorId x) {
  const int experts = build.model.experts, choices = build.model.choices;
  const bool normalize = choices > 1;
  const Layer logits = gate_logits(build, x);
  const TensorId scores = build.activation("gate_scores", experts);
  build.op(Sigmoid{}, "gate sigmoid", {logits.output}, {scores});
  const TopK top = select_top_k(build, logits.output, scores, normalize);

  const auto backward = [=, &build](TensorId d_weight) {
    const TensorId chosen = build.activation("d_gate_chosen", experts);
    build.op(SelectExpertsGradient{experts, choices, normalize}, "gate gradient",
             {d_weight, scores, top.expert, top.weight}, {chosen});
    build.op(
        LoadBalancingLossGradient{experts, choices, build.auxiliary_weight, build.global_tokens},
        "load balancing gradient", {top.total_demand, chosen}, {chosen});
    const TensorId d_logits = build.activation("d_gate_logits", experts);
    build.op(SigmoidGradient{}, "gate sigmoid gradient", {chosen, logits.output}, {d_logits});
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

}  // namespace moe
