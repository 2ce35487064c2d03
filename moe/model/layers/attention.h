#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: queries, keys and values, causal multi-head attention, output projection.
Layer attention(LayerBuilder& build, TensorId x);

}  // namespace moe
