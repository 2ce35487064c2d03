#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M], each row normalised, scaled and shifted. `name` of its ops ("ffn norm"),
/// `parameter` of what it learns ("norm2").
Layer layer_norm(LayerBuilder& build, const std::string& name, const std::string& parameter,
                 TensorId x);

}  // namespace moe
