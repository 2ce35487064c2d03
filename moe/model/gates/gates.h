#pragma once

#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// What a gate leaves for the layer: T tokens, k choices, E experts.
struct GateOutput {
  TensorId expert = -1;   ///< i32[T,k]
  TensorId weight = -1;   ///< [T,k]
  TensorId slot = -1;     ///< i32[T,k], -1 where dropped
  TensorId offsets = -1;  ///< i32[1,E+1], of the copies kept
  Backward backward;      ///< d_weight[T,k] -> gradient of the gate's input
};

/// Every gate, a line each: NAME, what it is. A model file calls it NAME; gates/NAME.cpp defines
/// GateOutput NAME_gate(LayerBuilder&, TensorId x), x[T,M].
#define MOELAB_GATES(GATE)                                                                \
  GATE(softmax, "softmax over the experts, the k largest (Switch; GShard without noise)") \
  GATE(sigmoid, "each expert's score for itself, the k largest (BASE, StableMoE)")

#define MOELAB_DECLARE_GATE(name, description) GateOutput name##_gate(LayerBuilder&, TensorId x);
MOELAB_GATES(MOELAB_DECLARE_GATE)
#undef MOELAB_DECLARE_GATE

struct Gate {
  std::string_view name;
  std::string_view description;
  GateOutput (*build)(LayerBuilder&, TensorId x);
};

const std::vector<Gate>& gates();

/// Throws InputError naming the gates there are.
const Gate& gate_named(std::string_view name);

}  // namespace moe
