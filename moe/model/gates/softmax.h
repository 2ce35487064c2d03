#pragma once

#include "moe/model/gates/gates.h"

namespace moe {

/// p = softmax(x W); the k experts of largest p, weighted by p for k = 1, by p over the sum of the
/// chosen for more.
GateOutput softmax_gate(LayerBuilder& build, TensorId x);

}  // namespace moe
