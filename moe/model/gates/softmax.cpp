#include "moe/model/gates/top_k.h"

namespace moe {

/// logits = x W.
GateOutput softmax_gate(LayerBuilder& build, TensorId x) {
  return softmax_top_k(build, gate_logits(build, x));
}

}  // namespace moe
