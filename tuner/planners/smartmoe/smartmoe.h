#pragma once

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// SmartMoE's online part: in every MoE layer experts change their homes, with their optimizer
/// state, where its greedy placement lowers the largest load of a rank (smartmoe_greedy.h); nothing
/// else is decided. Loads are those of all copies of the experts together. [SmartMoE, code] From
/// where they are now: Situation::homes_now. Where it is known how long a plan will rule, a layer's
/// experts move only if it pays for the move by then (move_costs.h): its code moves whenever the
/// largest load falls, its paper weighs the cost of migration, by what formula is not in what we
/// have. [reconstructed] Its offline part, a pool of parallel layouts searched before training, is
/// --layout and moe-tune compare here.
moe::Schedule plan_smartmoe_greedy(const Situation& situation, const PlannerOptions& options);

/// Its own choice alone, with how many experts it moves.
std::vector<Candidate> smartmoe_greedy_candidates(const Situation& situation,
                                                  const PlannerOptions& options);

}  // namespace tuner
