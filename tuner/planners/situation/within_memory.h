#pragma once

#include <optional>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The schedule with shard_optimizer: what was said of all-reduces holds for the collectives that
/// take their place, and gradients travel in one piece. None where that is not legal.
std::optional<moe::Schedule> with_sharded_optimizer(const moe::Program& program,
                                                    const moe::Schedule& schedule);

/// Legal schedules with the same decisions that need less memory of a rank, the fastest first: with
/// shard_optimizer, then with more and more blocks, from the first on, whose attention and dense
/// layers are computed again in backward (restore_block).
std::vector<moe::Schedule> lighter_schedules(const moe::Program& program,
                                             const moe::Schedule& schedule);

/// True where the schedule keeps to the memory of a rank, or is not legal at all.
bool fits_or_is_refused(const Situation& situation, const moe::Schedule& schedule);

/// The schedule, or, where it exceeds the memory of a rank, the first of the lighter ones that fits
/// it.
moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule);

}  // namespace tuner
