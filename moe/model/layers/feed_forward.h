#pragma once

#include <string>

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: the model's network with this hidden width, on every token, cut over the ranks
/// that share dense matrices. `name` is that of its ops and parameters: "ffn", or "shared" for
/// shared experts.
Layer feed_forward(LayerBuilder& build, TensorId x, const std::string& name, std::int64_t hidden);

}  // namespace moe
