#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kSpareSlots{"spare_slots", 1, 1024,
                                           "experts that a rank may hold beside its own [1]"};

/// EPLB puts replicas of experts, by load, on spare slots of every rank and packs them by load per
/// copy (eplb_packing.h). They stay on the node where the nodes of a stage have equally many ranks,
/// more than one; otherwise they go to any rank. The first copy of an expert is the one that is
/// updated. It moves for good, with the optimizer's state, where that pays while the plan is in
/// force (placement/move_costs.h). [ours] EPLB, made for inference, moves whatever it plans. It
/// keeps further copies for good. Here they are sent in every iteration, and their gradients home.
moe::Schedule plan_eplb(const Situation& situation, const PlannerOptions& options);

/// Candidates have copies on the node alone, where that is possible, and anywhere. They have first
/// copies that move, and that stay.
std::vector<Candidate> eplb_candidates(const Situation& situation, const PlannerOptions& options);

/// MicroMoE shares out the rows of replicated experts in every micro-batch, after the gate
/// (moe::RowsOfOthers::balanced). [ours] Its rule for placing replicas is not public in code;
/// EPLB's stands in for it.
moe::Schedule plan_micro_moe(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> micro_moe_candidates(const Situation& situation,
                                            const PlannerOptions& options);

}  // namespace tuner
