#pragma once

#include "moe/program/program.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// Several iterations of one Program without a wait between them: an op of the next iteration
/// starts when its stream is free and the ops that it waits for have ended, including the updates
/// of the parameters that it reads.
struct ChainedIterations {
  double total_s = 0;   ///< the time of all iterations
  double middle_s = 0;  ///< from the end of the iteration before the middle one to its end
};

/// Simulates `iterations` (odd, at least 3, so that the middle one has a neighbour on either side).
/// A real training waits for all ranks before each iteration (moe/train/trainer.cpp), so that each
/// takes as long as one alone; the difference is the cost of that wait. All iterations have the
/// same costs. Throws std::invalid_argument.
ChainedIterations simulate_chained(const moe::Program& program, const ProgramCosts& costs,
                                   const CostModel& model, const Cluster& cluster,
                                   int iterations = 3);

}  // namespace tuner
