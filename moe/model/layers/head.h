#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> Program::loss: final norm, logits by a matrix of its own or, tied, by the token table, and
/// cross-entropy of Program::targets. Its backward starts from the loss itself and takes no gradient.
Layer head(LayerBuilder& build, TensorId x);

}  // namespace moe
