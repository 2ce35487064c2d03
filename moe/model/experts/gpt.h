#pragma once

#include "moe/model/experts/experts.h"

namespace moe {

/// y = gelu(x U + u) D + d for the rows of each expert, U[M,H] and D[H,M] its own.
ExpertNetwork gpt_experts(LayerBuilder& build, TensorId received);

}  // namespace moe
