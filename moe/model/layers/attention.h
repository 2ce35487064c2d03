#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: projects to queries, keys and values, turns queries and keys by their
/// positions where the model has rotary positions, computes causal attention (grouped-query
/// attention where there are fewer heads of keys and values), and projects the output.
Layer attention(LayerBuilder& build, TensorId x);

}  // namespace moe
