#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

/// The schedule with shard_optimizer, that with the dense layers of all blocks restored, and that with
/// all blocks restored whole, each where it is legal. The last is lightest_schedule().
std::vector<moe::Schedule> lighter_schedules(const moe::Program& program,
                                             const moe::Schedule& schedule);

/// The legal schedule with shard_optimizer and all blocks restored whole, where that is legal: no
/// other with its decisions needs less memory.
moe::Schedule lightest_schedule(const moe::Program& program, const moe::Schedule& schedule);

/// For a legal schedule that exceeds the memory of a rank: with shard_optimizer, and then in each
/// pipeline stage that does not fit with as few blocks, from its first on, as must be whose attention
/// and dense layers are computed again in backward (restore_block), or with all of those and as few
/// as must be that are computed again whole, with their exchanges; the lightest where none fits. It is
/// found in a few memory plans, no more than the logarithm of the number of blocks. None for other
/// schedules.
std::optional<Lighter> lighter_schedule(const Situation& situation, const moe::Schedule& schedule);
/// [stage]: the bytes by which its fullest rank exceeds the memory of a rank, as excess_bytes().
using ExcessOf = std::function<std::vector<std::int64_t>(const moe::Schedule&)>;
/// The same for one of which is known that it does not fit, by an excess of its own. `progress` may
/// be null.
Lighter lighter_schedule(const moe::Program& program, const moe::Schedule& schedule,
                         const ExcessOf& excess_of, PlanningProgress* progress);

/// The schedule, or, where it exceeds the memory of a rank, the lighter one that fits it.
moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule);

}  // namespace tuner
