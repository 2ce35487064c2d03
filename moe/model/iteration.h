#pragma once

#include "moe/model/model.h"
#include "moe/program/program.h"

namespace moe {

/// The pipeline stage that has this block: the same number of blocks each, the first stages one more where
/// that does not come out even. The embedding is in the first, the head in the last.
int stage_of_block(int block, int blocks, int stages);

/// Forward, backward and update of one iteration, as the ranks of `groups` run it (each the ops of its
/// stage), with every op on the compute stream (exchanges of counts on the host's), one micro-batch after
/// the other: the Program that all schedules start from. Throws as check().
Program build_iteration(const Model& model, const Groups& groups, int rank);

/// The forward part alone, on the same tensors.
Program forward_only(Program program);

/// The same with gates that add no noise and hooks that do not jitter: for held-out loss.
Program without_noise(Program program);

}  // namespace moe
