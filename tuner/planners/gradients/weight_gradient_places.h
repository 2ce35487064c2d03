#pragma once

#include <vector>

#include "moe/passes/place_weight_gradient.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Where Lancet puts weight gradients (Alg. 1): after exchanges of rows in the backward phase.
/// Those of the first micro-batch decide for all. `decided` is the schedule without them.
std::vector<moe::PlaceWeightGradient> weight_gradient_places(const Situation& situation,
                                                             const moe::Schedule& decided);

}  // namespace tuner
