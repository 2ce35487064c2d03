#pragma once

#include <map>
#include <string>

#include "tuner/planners/fsmoe/fsmoe_degree.h"
#include "tuner/planners/gradients/filled_gradients.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// FSMoE: communication between nodes and inside nodes have streams of their own beside the
/// experts. Gradients are all-reduced in slices where the inter-node stream is idle: after the last
/// dispatch, and beside dense layers. The planner takes the fastest by simulation of five ways: one
/// degree forward and one backward for all layers with either fill, with gradients of blocks whole
/// as Tutel-Improved has them, or with gradients after backward as PipeMoE has them; and each
/// layer's own degrees by the paper's algorithms.
moe::Schedule plan_fsmoe(const Situation& situation, const PlannerOptions& options);
/// FSMoE-No-IIO: the same with one stream for all communication. [FSMoE 6.1]
moe::Schedule plan_fsmoe_no_iio(const Situation& situation, const PlannerOptions& options);

/// The schedule that cuts every layer by these degrees and shares gradients out. Step 1 fills the
/// idle time of backward (fill_overlappable). Step 2 shares the rest for the least time by the
/// closed form (share_exactly).
moe::Schedule fsmoe_schedule(const Situation& situation, Degrees degrees, InNode in_node,
                             Fill fill = Fill::all_of_backward);

/// The paper's schedule. Algorithm 1 chooses each layer's degrees: forward without gradients,
/// backward with the gradients that steps 1 and 2 give it. Step 2 takes its times from Algorithm 1.
moe::Schedule fsmoe_schedule_by_equations(const Situation& situation, int most_chunks,
                                          InNode in_node);

/// Every phase of every MoE layer for the equations: the startup and volume of each task, from the
/// times of the uncut layer and of its halves.
std::map<PipelineOf, MoePhase> moe_phases(const Situation& situation, InNode in_node);

/// The degrees of its schedule beside those of the paper's algorithms, and the time of step 2 by
/// the dynamic program and by evolution.
std::string fsmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

/// The schedules of the five ways.
std::vector<Candidate> fsmoe_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> fsmoe_no_iio_candidates(const Situation& situation,
                                               const PlannerOptions& options);

}  // namespace tuner
