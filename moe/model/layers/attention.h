#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: queries, keys and values, turned by their positions where the model says so, causal
/// attention (grouped where there are fewer heads of keys and values than of queries), output projection.
Layer attention(LayerBuilder& build, TensorId x);

}  // namespace moe
