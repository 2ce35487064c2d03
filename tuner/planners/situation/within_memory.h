#pragma once

#include <functional>
#include <optional>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The schedule with shard_optimizer: what was said of all-reduces holds for the collectives that
/// take their place, and gradients travel in one piece. None where that is not legal.
std::optional<moe::Schedule> with_sharded_optimizer(const moe::Program& program,
                                                    const moe::Schedule& schedule);

/// A schedule with the decisions of another that needs less memory of a rank.
struct Lighter {
  moe::Schedule schedule;
  bool fits = false;  ///< the memory of a rank
};

/// The legal schedule with shard_optimizer and all blocks restored whole, where that is legal: no
/// other with its decisions needs less memory.
moe::Schedule lightest_schedule(const moe::Program& program, const moe::Schedule& schedule);

/// For a legal schedule that exceeds the memory of a rank: with shard_optimizer, then with as few
/// blocks, from the first on, as must be whose attention and dense layers are computed again in
/// backward (restore_block), then with all of those and as few as must be that are computed again
/// whole, with their exchanges; the lightest where none fits. It is found in a number of memory plans
/// that grows as the logarithm of the number of blocks. None for other schedules.
std::optional<Lighter> lighter_schedule(const Situation& situation, const moe::Schedule& schedule);
/// The same for one of which is known that it does not fit, by what else `fits`. `progress` may be
/// null.
Lighter lighter_schedule(const moe::Program& program, const moe::Schedule& schedule,
                         const std::function<bool(const moe::Schedule&)>& fits,
                         PlanningProgress* progress);

/// The schedule, or, where it exceeds the memory of a rank, the lighter one that fits it.
moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule);

}  // namespace tuner
