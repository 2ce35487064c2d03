#pragma once

#include <string>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// PipeMoE: Tutel's pipeline with degrees chosen by a model, forward and backward apart. Both
/// functions try degrees from 1 to the most chunks in one phase with the other uncut. The loss
/// stands between the phases, so they do not compete. Equal times: fewer chunks.
Degrees pipemoe_degrees_by_simulation(const Situation& situation, const PlannerOptions& options);
/// The degrees by the paper's closed form.
Degrees pipemoe_degrees_by_equations(const Situation& situation, const PlannerOptions& options);

/// The schedule by simulation: the closed form never over-estimates but may under-estimate.
moe::Schedule plan_pipemoe(const Situation& situation, const PlannerOptions& options);

/// The degrees of its schedule beside those of the closed form.
std::string pipemoe_remark(const Situation& situation, const PlannerOptions& options,
                           const moe::Schedule& schedule);

/// Candidates with every pair of degrees up to 4 (and up to the most chunks), and its own choice.
std::vector<Candidate> pipemoe_candidates(const Situation& situation,
                                          const PlannerOptions& options);

}  // namespace tuner
