#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Pro-Prophet's fixed policies: in every MoE layer the two, or three, experts with most inputs are
/// sent to all ranks, and their gradients come home [Pro-Prophet VI-C, printed]. Transfers stand in
/// their place, or as Pro-Prophet's scheduler hides them (placement/hidden_transfers.h), whichever
/// is faster by simulation.
moe::Schedule plan_top2(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_top3(const Situation& situation, const PlannerOptions& options);

/// Transfers in their place, and hidden.
std::vector<Candidate> top2_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> top3_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
