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

/// One way of choosing experts for tokens: a file of this folder and a line in gates.cpp.
struct Gate {
  std::string_view name;         ///< as a model file says it
  std::string_view description;  ///< one line, with its source
  GateOutput (*build)(LayerBuilder&, TensorId x);
};

const std::vector<Gate>& gates();

/// Throws std::invalid_argument naming the gates there are.
const Gate& gate_named(std::string_view name);

}  // namespace moe
