#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// SmartMoE's online part: in every MoE layer experts change their homes, with their optimizer
/// state, where its greedy placement lowers the largest load of a rank (smartmoe_homes). Nothing
/// else is decided. Loads are those of all copies of the experts together. [SmartMoE, code]
/// Experts start from Situation::homes_now. Where the number of iterations is known, a layer's
/// experts move only if the plan pays for the move by then (placement/move_costs.h). The authors'
/// code moves whenever the largest load falls. The paper weighs the cost of migration; its formula
/// is not in the text at hand. [reconstructed]
/// The offline part, a pool of parallel layouts that is searched before training, is --layout and
/// moe-tune compare here.
moe::Schedule plan_smartmoe_greedy(const Situation& situation, const PlannerOptions& options);

/// Its own choice alone, with the number of experts that it moves.
std::vector<Candidate> smartmoe_greedy_candidates(const Situation& situation,
                                                  const PlannerOptions& options);

/// SmartMoE's greedy placement: packed_homes (placement/packed_homes.h) where that lowers the
/// largest load of a member, else the homes that experts have now. [SmartMoE, code] Throws as
/// packed_homes.
moe::ExpertHomes smartmoe_homes(std::span<const std::int64_t> loads, const moe::ExpertHomes& now,
                                int members);

}  // namespace tuner
