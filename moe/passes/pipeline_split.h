#pragma once

#include "moe/passes/schedule.h"
#include "moe/program/program.h"

namespace moe {

/// Cuts one phase of one MoE layer into `chunks` slices of its routed rows, so that the exchange of
/// one slice can run while the experts compute another. Runs before assign_stream.
///
/// The ops between the layer's permutation and its last all-to-all (forward: permute, dispatch,
/// experts, combine; backward: combine gradient, dispatch of it, expert gradients, combine) are
/// repeated per slice in the order: all first exchanges with what feeds them, then for each slice
/// its experts followed by its return exchange. Ops on whole tensors (gate, combine, weights of the
/// gate) stay as they are. Expert weight gradients add up over slices; everything else is row by
/// row, so the values do not change. Throws std::invalid_argument when the layer has no routed rows
/// in that phase, is split already, or chunks < 1.
Program pipeline_split(Program program, const PipelineSplit& split);

}  // namespace moe
