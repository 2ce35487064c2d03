#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M], the block `build.block` of a transformer with norms before its parts:
/// z = x + attention(norm(x)), y = z + network(norm(z)). The network is a dense one, or a mixture of experts,
/// with what every token passes added where there are shared experts.
Layer block(LayerBuilder& build, TensorId x);

}  // namespace moe
