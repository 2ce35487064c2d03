#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// EPLB: copies of experts by load on one more slot of every rank, packed by load per copy (eplb_packing.h); on one node
/// where each node of a stage has as many ranks, and more than one, on any rank otherwise. First copies move for good, with
/// the optimizer's state, where that pays for itself while the plan rules (move_costs.h; ours: EPLB, made for inference,
/// moves whatever it plans). Further copies are there for good in EPLB; here they are sent in every iteration, and their
/// gradients home.
moe::Schedule plan_eplb(const Situation& situation, const PlannerOptions& options);

/// With copies on the node alone, where that is possible, and anywhere; with first copies that move, and that stay.
std::vector<Candidate> eplb_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
