#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// True where the feed-forward network of the block is a mixture of experts.
bool has_experts(const Model& model, int block);

/// x[T,M] -> y[T,M], the block `build.block` of a transformer with norms before its parts:
/// z = x + attention(norm(x)), y = z + network(norm(z)).
Layer block(LayerBuilder& build, TensorId x);

}  // namespace moe
