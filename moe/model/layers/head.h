#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> the loss: final norm, logits by a matrix of its own or, where it is tied, by the token
/// table, over logits_divisor, and cross-entropy with Program::targets. Its backward starts from the loss and takes no
/// gradient.
Layer head(LayerBuilder& build, TensorId x);

}  // namespace moe
