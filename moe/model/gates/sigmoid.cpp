#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// s = 1 / (1 + e^-xW), each expert for itself; the k experts of largest s, weighted by s for k =
/// 1, by s over the sum of the chosen for more.  [FSMoE 3.1 names it, of BASE and StableMoE] The
/// load-balancing loss takes s over the sum of a token's s where softmax gates have probabilities.
GateOutput build_sigmoid(LayerBuilder& build, TensorId x) {
  const Layer logits = gate_logits(build, x);
  const TensorId scores = gate_scores(build, Scores::sigmoid, logits.output);
  const TopK top = select_top_k(build, logits.output, scores);
  const AddGradient add_balance = load_balancing_loss(build, scores, top, true),
                    add_z_loss = router_z_loss(build, logits.output);

  const auto backward = [=, &build](TensorId d_weight) {
    const TensorId d_logits =
        sigmoid_gate_gradient(build, d_weight, top, scores, logits.output, add_balance);
    add_z_loss(d_logits);
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

}  // namespace

Gate sigmoid_gate() {
  return {.description = "each expert's score for itself, the k largest (BASE, StableMoE)",
          .build = build_sigmoid};
}

}  // namespace moe
