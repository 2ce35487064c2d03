#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: normalises each row as the model says, by mean and deviation with scale and
/// shift, or by its root mean square with scale. `name` is that of its ops ("ffn norm"),
/// `parameter` that of its parameters ("norm2").
Layer norm(LayerBuilder& build, const std::string& name, const std::string& parameter, TensorId x);

/// x[T,n] -> y[T,n]: by its root mean square, whatever the model's norms are.
Layer rms_norm(LayerBuilder& build, const std::string& name, const std::string& parameter,
               TensorId x, double epsilon);

}  // namespace moe
