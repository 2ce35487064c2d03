#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Tutel: a person fixes one degree (kDegree, 2 unless asked). Every MoE layer is cut into that
/// many chunks, forward and backward. The all-to-all has a stream of its own beside the experts;
/// gradients are all-reduced after backward. [FSMoE's baseline as its authors ran it, code]
moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options);

/// The degree that was asked for, else 1 to 4 and 8, up to the most chunks.
std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
