#pragma once

#include <string>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// PipeMoE: the pipeline of Tutel with the degree chosen by a model, forward and backward apart.
/// Both try degrees 1..options.most_chunks of one phase with the other uncut: the loss stands
/// between the phases, so they do not compete. Ties: fewer chunks.
Degrees pipemoe_degrees_by_simulation(const Situation& situation, const PlannerOptions& options);
/// What the paper's closed form would take.
Degrees pipemoe_degrees_by_equations(const Situation& situation, const PlannerOptions& options);

/// By simulation: the closed form never over-estimates but may under-estimate.
moe::Schedule plan_pipemoe(const Situation& situation, const PlannerOptions& options);

/// The degrees of its schedule beside those of the closed form.
std::string pipemoe_remark(const Situation& situation, const PlannerOptions& options,
                           const moe::Schedule& schedule);

/// Every pair of degrees up to 4 (and up to most_chunks where that is less), and its own choice.
std::vector<Candidate> pipemoe_candidates(const Situation& situation,
                                          const PlannerOptions& options);

}  // namespace tuner
