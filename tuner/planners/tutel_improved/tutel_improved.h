#pragma once

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Tutel-Improved: PipeMoE's pipeline, and the gradients of a block all-reduced whole beside the
/// first part of backward without experts that begins after they exist: what follows the combine of
/// the next MoE layer, or a block that has none. Degrees by simulation, forward and backward apart.
/// [FSMoE 6.1 and its baseline, code]
moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options);

/// The same with these degrees.
moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees);

}  // namespace tuner
