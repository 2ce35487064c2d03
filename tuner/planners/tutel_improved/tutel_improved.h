#pragma once

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Tutel-Improved: PipeMoE's pipeline. The gradients of a block are all-reduced whole beside the
/// first dense part of backward that begins after they exist: after the combine of the next MoE
/// layer, or in a block without experts. Degrees are chosen by simulation, forward and backward
/// apart. [FSMoE 6.1 and its baseline, code]
moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options);

/// The same with these degrees.
moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees);

}  // namespace tuner
