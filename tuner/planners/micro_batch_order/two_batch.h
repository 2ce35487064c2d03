#pragma once

#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Two micro-batches at a time: the backward pass of one beside the forward pass of the next, with
/// exchanges on a stream of their own. One computes while rows of the other travel.
/// [Megatron-Core's batch-level overlap of mixture-of-experts; DeepSeek's DualPipe, on one stage]
/// A model with one micro-batch, or a layout with several stages, gets the empty schedule and no
/// candidates.
moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> two_batch_candidates(const Situation& situation,
                                            const PlannerOptions& options);

/// With m micro-batches, f and b the computation in the forward and backward pass of one, F and B
/// its exchanges, and u all that happens once in an iteration:
///     f + F + (m - 1) max(f + b, F + B) + b + B + u.  [ours: neither publishes a closed form]
double two_batch_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
