#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M], the block `build.block` of a transformer: z = x + r attention(norm(x)),
/// y = z + r network(norm(z)) with r = residual_factor; with norm_place = "behind" norm(attention(x))
/// and norm(network(z)). The network is dense or a mixture of experts; the
/// output of shared experts, which every token passes, is added to the latter.
Layer block(LayerBuilder& build, TensorId x);

}  // namespace moe
