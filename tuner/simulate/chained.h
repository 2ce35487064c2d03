#pragma once

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// Iterations of one Program in a row with nothing between them: an op of the next one starts when its
/// stream is free and what it waits for has ended, the update of what it reads among them.
struct ChainedIterations {
  double total_s = 0;   ///< of all
  double middle_s = 0;  ///< from the end of the one before the middle one to the middle one's end
};

/// Simulates `iterations` (odd, at least 3, so that the middle one has a neighbour on either side).
/// Training waits for all ranks before an iteration (moe/train/trainer.cpp), so its iterations take what
/// one takes alone; the difference is what that wait costs. Throws std::invalid_argument, and as
/// op_costs().
ChainedIterations simulate_chained(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing, const CostModel& costs,
                                   const Cluster& cluster, int iterations = 3);

}  // namespace tuner
