#pragma once

#include <string>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kReleasedSearch{
    "released", 0, 1,
    "1: Alg. 1 as the authors' code runs it: from 2 partitions on, from the better end, by forward "
    "passes alone [0]"};

/// PMoE: MPMoE's pipeline without shared buffers, its baseline [MPMoE 5.4]. Every MoE layer is cut
/// into n chunks, forward and backward. n is the degree that was asked for. Otherwise 1, 2, ... are
/// simulated up to the most chunks, until the time rises. Its closed form is paradigm 1 of MPMoE's
/// performance model (performance_model.h).
moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options);

/// MPMoE-pb: for each strategy of memory reuse (memory_reuse.h) it searches the number of
/// partitions (until_it_rises, 1 to the most chunks) by Situation::measure, or by simulation where
/// that is empty. It takes the fastest. A configuration whose planned peak does not fit the memory
/// of a rank is not measured and not taken; if none fits, the one with the least peak is taken.
/// Where a layer's buffers cannot be shared, the plan is PMoE's, under this planner's name. [MPMoE
/// 4.1, Alg. 1] With kReleasedSearch the search is from_the_better_end of 2 to the most chunks, by a
/// forward pass, summed over ranks: simulated, as nothing trains forward alone [its authors' code].
/// Of the four strategies, of which that code chooses none, it takes the fastest (ours). That code's
/// second stream of communication, and its recomputation beside computation, are not here.
moe::Schedule plan_mpmoe_pb(const Situation& situation, const PlannerOptions& options);

/// MPMoE-pm: the fastest configuration (n, S) that fits, by the performance model
/// (performance_model.h). [MPMoE 4.2]
moe::Schedule plan_mpmoe_pm(const Situation& situation, const PlannerOptions& options);

/// {"forward_chunks": 4, "backward_chunks": 4, "strategy": "S2"}
std::string mpmoe_parameters(const moe::Schedule& schedule);

/// S1 to S4, each in 2, 4 and 8 partitions as far as the most chunks go, and its own choice. A
/// choice that was measured is the only candidate.
std::vector<Candidate> mpmoe_pb_candidates(const Situation& situation,
                                           const PlannerOptions& options);
std::vector<Candidate> mpmoe_pm_candidates(const Situation& situation,
                                           const PlannerOptions& options);

/// n, S, how they were chosen, and the planned peaks; or the reason why buffers cannot be shared.
std::string mpmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

}  // namespace tuner
