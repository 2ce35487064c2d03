#pragma once

#include "moe/program/program.h"

namespace moe {

/// Makes of a Program that is the forward and backward pass of one micro-batch those of `count`, one after
/// the other: each has inputs, activations and losses of its own, and adds its gradients to those before.
/// Throws std::logic_error naming an op that writes a gradient and cannot add to it.
void repeat_for_micro_batches(Program& program, int count);

}  // namespace moe
