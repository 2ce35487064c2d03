#pragma once

#include <vector>

#include "moe/passes/place_weight_gradient.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Lancet's places for weight gradients (Alg. 1): after exchanges of rows in the backward phase.
/// The first micro-batch decides for all. `decided` is the schedule without these places.
std::vector<moe::PlaceWeightGradient> weight_gradient_places(const Situation& situation,
                                                             const moe::Schedule& decided);

}  // namespace tuner
