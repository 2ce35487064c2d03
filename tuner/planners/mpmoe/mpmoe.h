#pragma once

#include <string>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// MPMoE-pb: for each strategy of restoring what chunks overwrite (mpmoe/memory_reuse.h) the number
/// of partitions by search over profiles (mpmoe/granularity_search.h, 1 .. options.most_chunks),
/// then the fastest of them. What by its planned peak does not fit the memory of a rank is not
/// profiled and no choice, but where nothing fits: then what needs least. Where a layer's buffers
/// cannot be shared, the plan is PMoE's, under this planner's name.
///                                                                                     [MPMoE 4.1, Alg. 1]
moe::Schedule plan_mpmoe_by_profiles(const Situation& situation, const PlannerOptions& options,
                                     const MeasureSchedule& profile);
/// The same with the situation's micro-profiles, and with simulation where there are none.
moe::Schedule plan_mpmoe_pb(const Situation& situation, const PlannerOptions& options);

/// MPMoE-pm: the fastest that fits of all (n, S) by the performance model
/// (mpmoe/performance_model.h). [MPMoE 4.2]
moe::Schedule plan_mpmoe_pm(const Situation& situation, const PlannerOptions& options);

/// {"forward_chunks": 4, "backward_chunks": 4, "strategy": "S2"}
std::string mpmoe_parameters(const moe::Schedule& schedule);

/// The performance model, for both.
double mpmoe_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// S1 to S4, each in 2, 4 and 8 partitions as far as most_chunks goes, and its own choice; that
/// alone where micro-profiles have made it.
std::vector<Candidate> mpmoe_pb_candidates(const Situation& situation,
                                           const PlannerOptions& options);
std::vector<Candidate> mpmoe_pm_candidates(const Situation& situation,
                                           const PlannerOptions& options);

/// n, S, what chose them and the planned peaks; why not where buffers cannot be shared.
std::string mpmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

}  // namespace tuner
