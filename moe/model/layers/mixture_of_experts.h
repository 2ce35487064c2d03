#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: FSMoE's sub-modules in a row. The model's gate chooses experts for the tokens, its order
/// brings them into the order of the experts, rows travel there (all-to-all), its expert networks compute, rows
/// travel back, and the order is undone. Its hooks stand in between.
Layer mixture_of_experts(LayerBuilder& build, TensorId x);

}  // namespace moe
