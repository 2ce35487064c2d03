#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> y[T,M]: FSMoE's sub-modules one after the other. The gate chooses experts for the
/// tokens, the order arranges copies of tokens by expert, an all-to-all sends the rows to the
/// experts, the expert networks compute, an all-to-all sends the rows back, and the order is
/// undone. Hooks run in between.
Layer mixture_of_experts(LayerBuilder& build, TensorId x);

}  // namespace moe
