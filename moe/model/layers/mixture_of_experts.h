#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: the model's gate chooses experts for each token, copies travel to them
/// (permute, all-to-all), the model's expert networks compute, and what comes back is combined.
Layer mixture_of_experts(LayerBuilder& build, TensorId x);

}  // namespace moe
