#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Two micro-batches at a time: the backward pass of one among the forward pass of the next,
/// exchanges on a stream of their own, so that one computes while rows of the other travel.
/// [Megatron-Core's batch-level overlap of mixture-of-experts; DeepSeek's DualPipe, on one stage]
/// The empty schedule where a model has one micro-batch or the layout several stages, and no
/// candidates then.
moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions& options);

/// With m micro-batches, f and b what computes in the forward and the backward pass of one, F and B
/// what its exchanges take, u what comes once in an iteration:
///     f + F + (m - 1) max(f + b, F + B) + b + B + u.  [ours: neither publishes a closed form]
double two_batch_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

std::vector<Candidate> two_batch_candidates(const Situation& situation,
                                            const PlannerOptions& options);

}  // namespace tuner
