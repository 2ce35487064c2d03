#pragma once

#include <map>
#include <string>

#include "tuner/planners/fsmoe/fsmoe_degree.h"
#include "tuner/planners/gradients/filled_gradients.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// FSMoE: what crosses nodes and what stays inside on streams of their own beside the experts, and
/// the gradients all-reduced in pieces where the inter-node stream is idle: behind the last
/// dispatch, and beside what is no experts. One degree forward and one backward for all layers by
/// simulation, with either fill, or each layer's own by the paper's algorithms: whichever simulates
/// best.
moe::Schedule plan_fsmoe(const Situation& situation, const PlannerOptions& options);
/// FSMoE-No-IIO: the same with one stream for what crosses nodes and what stays inside. [FSMoE 6.1]
moe::Schedule plan_fsmoe_no_iio(const Situation& situation, const PlannerOptions& options);

/// Every layer cut by these degrees, and the gradients shared out: step 1 fills what backward
/// leaves idle (fill_overlappable), step 2 shares the rest for the least time by the closed form
/// (share_exactly).
moe::Schedule fsmoe_schedule(const Situation& situation, Degrees degrees, InNode in_node,
                             Fill fill = Fill::all_of_backward);

/// As the paper plans: each layer's degrees by Algorithm 1, forward without gradients, backward
/// with those that steps 1 and 2 give it, the time of step 2 being that of Algorithm 1.
moe::Schedule fsmoe_schedule_by_equations(const Situation& situation, int most_chunks,
                                          InNode in_node);

/// Every phase of every MoE layer as the equations see it: startup and volume of each task, from
/// the times of the uncut layer and of its halves.
std::map<PipelineOf, MoePhase> moe_phases(const Situation& situation, InNode in_node);

/// The degrees of its schedule beside those that the paper's algorithms would take, and what these
/// come to with step 2 by the dynamic program and by evolution.
std::string fsmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

/// By simulation with either fill, and by the paper's algorithms.
std::vector<Candidate> fsmoe_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> fsmoe_no_iio_candidates(const Situation& situation,
                                               const PlannerOptions& options);

}  // namespace tuner
