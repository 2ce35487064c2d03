#include "moe/model/gates/gates.h"
#include "moe/model/gates/top_k.h"
#include "moe/model/layers/linear.h"

namespace moe {

/// p = softmax(x W); the k experts of largest p, weighted by p for k = 1, by p over the sum of the
/// chosen for more.
GateOutput softmax_gate(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const Layer logits = gate_logits(build, x);
  const TensorId probabilities = build.activation("gate_probabilities", model.experts);
  build.op(Softmax{}, "gate softmax", {logits.output}, {probabilities});
  const TopK top = select_top_k(build, logits.output, probabilities, model.choices > 1);

  const auto backward = [=, &build](TensorId d_weight) {
    const TensorId d_logits = build.activation("d_gate_logits", build.model.experts);
    build.op(SoftmaxGateGradient{build.model.experts, build.model.choices, build.auxiliary_weight,
                                 build.global_tokens},
             "gate gradient", {d_weight, probabilities, top.expert, top.weight, top.total_demand},
             {d_logits});
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

}  // namespace moe
