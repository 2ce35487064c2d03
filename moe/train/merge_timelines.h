#pragma once

#include "moe/communicator/communicator.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/run/runner.h"
#include "moe/train/rank_clocks.h"
#include "moe/train/trainer.h"

namespace moe {

/// What one rank tells the others of its iteration.
struct OwnIteration {
  const IterationResult& result;
  double flops = 0;
  BarrierTimes barrier;  ///< right before it, where spans are recorded
};

/// What is known of the ranks' clocks so far.
struct KnownClocks {
  RankClocks clocks;
  bool said_wrong_order = false;
};

/// Adds up over all ranks what an iteration took, and puts their spans on rank 0's clock, counted
/// from the first begin (collective). A duration is the longest that a rank measured on its own
/// clock. `program` is the whole one that was run. Only rank 0 gets a timeline, and each rank what it
/// received itself.
void merge_timelines(StepReport& report, const OwnIteration& mine, const Program& program,
                     const Groups& groups, Communicator& world, KnownClocks& known,
                     double time_limit_s);

}  // namespace moe
