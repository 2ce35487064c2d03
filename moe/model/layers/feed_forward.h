#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: up to d_hidden, GELU, down.
Layer feed_forward(LayerBuilder& build, TensorId x);

}  // namespace moe
