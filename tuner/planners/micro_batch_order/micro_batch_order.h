#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Micro-batches through the stages of a pipeline: all forward then all backward, or one forward,
/// one backward in turn; rows that stages pass on travel beside computation. No candidates where a
/// model has one micro-batch, and their schedule is then the empty one.
moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions& options);

/// GPipe's bubble, for both: of p stages and m micro-batches, with t the longest that any stage
/// takes for the forward and backward pass of one and u for its updates and reductions,
///     (m + p - 1) t + u.  [GPipe 2.3, reconstructed from its O((p-1)/(m+p-1))]
double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

std::vector<Candidate> gpipe_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> one_f_one_b_candidates(const Situation& situation,
                                              const PlannerOptions& options);

}  // namespace tuner
