#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M], each row normalised as the model says: by mean and deviation, scaled and shifted, or by
/// its root mean square, scaled. `name` of its ops ("ffn norm"), `parameter` of what it learns ("norm2").
Layer norm(LayerBuilder& build, const std::string& name, const std::string& parameter, TensorId x);

}  // namespace moe
