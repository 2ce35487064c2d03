#pragma once

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// `pipeline`, whose exchanges and all-reduces have their streams, with the gradients of each block
/// all-reduced whole beside the first dense part of backward that begins after they exist: after
/// the combine of the next MoE layer, or in a block without experts.  [FSMoE 6.1 and its baseline
/// Tutel-Improved, code]
moe::Schedule with_whole_gradients(const Situation& situation, const moe::Schedule& pipeline);

}  // namespace tuner
