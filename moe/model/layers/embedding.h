#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// tokens i32[T] -> x[T,M], a token's row of a table, with its position's row of another where positions are
/// learned. Its backward returns -1: token ids have no gradient.
Layer embedding(LayerBuilder& build);

/// token_table[V,M], which a tied head multiplies with too; made by whoever asks first.
TensorId token_table(LayerBuilder& build);

}  // namespace moe
