#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// The softmax gate that drops by probability, whatever the model's `drop` (GateFacts::drop).
/// [Riquelme et al. 2021, "Scaling Vision with Sparse Mixture of Experts", 4.1]
GateOutput build_batch_prioritized(LayerBuilder& build, TensorId x) {
  return softmax_top_k(build, gate_logits(build, x));
}

}  // namespace

Gate batch_prioritized_gate() {
  return {.description = "softmax; tokens of high probability are served first (V-MoE)",
          .facts = {.drop = Drop::probability},
          .build = build_batch_prioritized};
}

}  // namespace moe
