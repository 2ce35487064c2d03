#pragma once

#include "moe/passes/schedule.h"
#include "tuner/planners/gradients/gradient_places.h"

namespace tuner {

/// The schedule, whose exchanges and all-reduces have their streams, with the gradients of each
/// block all-reduced whole beside the first dense part of backward that begins after they exist:
/// after the combine of the next MoE layer, or in a block without experts.  [FSMoE 6.1 and its
/// baseline Tutel-Improved, code]
moe::Schedule with_whole_gradients(const UnplacedGradients& gradients);

}  // namespace tuner
