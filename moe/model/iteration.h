#pragma once

#include "moe/model/model.h"
#include "moe/program/program.h"

namespace moe {

/// The pipeline stage that has this block unless a schedule says otherwise (passes/place_blocks.h).
/// All stages have the same number of blocks, or the first ones have one more. The embedding is in
/// the first stage, the head in the last.
int stage_of_block(int block, int blocks, int stages);

/// The Program that all schedules start from: forward, backward and update of one iteration on the
/// ranks of `groups`, each of which runs the ops of its stage. All ops are on the compute stream,
/// except exchanges of counts on the host stream; micro-batches run one after the other. Throws as
/// check().
Program build_iteration(const Model& model, const Groups& groups, int rank);

/// Only the forward phase, on the same tensors.
Program forward_only(Program program);

/// Only the forward phase, with gates that add no noise and balance no choices, and hooks that do
/// not jitter, for held-out losses.
Program without_noise(Program program);

/// The same ops, with gates that send tokens to experts in turn (SelectExperts::in_turn). Gates
/// that give every expert as many tokens by themselves stay as they are.
Program with_even_routing(Program program);

}  // namespace moe
