#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// logits = x W.
GateOutput build_softmax(LayerBuilder& build, TensorId x) {
  return softmax_top_k(build, gate_logits(build, x));
}

}  // namespace

Gate softmax_gate() {
  return {.description = "softmax over the experts, the k largest (Switch; GShard without noise)",
          .build = build_softmax};
}

}  // namespace moe
