#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// tokens i32[T] -> x[T,M], the sum of a token's row and its position's row of two tables. Its
/// backward returns -1: token ids have no gradient.
Layer embedding(LayerBuilder& build);

}  // namespace moe
