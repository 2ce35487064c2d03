#include "moe/model/gates/top_k.h"

namespace moe {

/// The softmax gate that drops by probability, whatever the model's `drop` (GateFacts::drop).
/// [Riquelme et al. 2021, "Scaling Vision with Sparse Mixture of Experts", 4.1]
GateOutput batch_prioritized_gate(LayerBuilder& build, TensorId x) {
  return softmax_top_k(build, gate_logits(build, x));
}

}  // namespace moe
