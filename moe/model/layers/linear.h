#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

struct LinearShape {
  std::string name;       ///< of its ops: "attention qkv"
  std::string parameter;  ///< "attention.qkv": of it ".weight" and ".bias"
  std::int64_t inputs = 0, outputs = 0;
  bool bias = true;
  double standard_deviation = LayerBuilder::kInitialDeviation;
};

/// x[T,inputs] -> y[T,outputs] = x W (+ b). Backward: the input gradient, then the weight gradient.
Layer linear(LayerBuilder& build, const LinearShape& shape, TensorId x);

}  // namespace moe
