#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// The empty schedule: every op on one stream, nothing overlapped, gradients reduced at the end, as
/// DeepSpeed-MoE trains. The baseline of every speed-up.
moe::Schedule plan_sequential(const Situation& situation, const PlannerOptions& options);

/// The sum of all ops on their slowest rank.
double sequential_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

std::vector<Candidate> sequential_candidates(const Situation& situation,
                                             const PlannerOptions& options);

}  // namespace tuner
