#pragma once

#include "moe/program/program.h"

namespace moe {

/// Turns the forward and backward pass of one micro-batch into those of `count` micro-batches, one
/// after the other. Each has inputs, activations and losses of its own, and adds its gradients to
/// those of the micro-batches before it. Throws std::logic_error with an op that writes a gradient
/// and cannot add to it.
void repeat_for_micro_batches(Program& program, int count);

}  // namespace moe
