#pragma once

#include <optional>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The schedule with shard_optimizer: what was said of all-reduces holds for the collectives that
/// take their place, and gradients travel in one piece. None where that is not legal.
std::optional<moe::Schedule> with_sharded_optimizer(const moe::Program& program,
                                                    const moe::Schedule& schedule);

}  // namespace tuner
