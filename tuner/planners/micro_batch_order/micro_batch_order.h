#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Sends micro-batches through the stages of a pipeline: all forward then all backward (GPipe), or
/// one forward and one backward in turn (1F1B). Rows that stages pass on travel beside computation.
/// A model with one micro-batch gets the empty schedule and no candidates.
moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions& options);

/// GPipe's bubble, for both. With p stages and m micro-batches, t the longest time of a stage for
/// the forward and backward pass of one micro-batch, and u that for its updates and all-reduces:
///     (m + p - 1) t + u.  [GPipe 2.3, reconstructed from its O((p-1)/(m+p-1))]
double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

std::vector<Candidate> gpipe_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> one_f_one_b_candidates(const Situation& situation,
                                              const PlannerOptions& options);

}  // namespace tuner
