#pragma once

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kReleasedDegree{
    "released", 0, 1,
    "1: one degree for both phases and gradients beside dense layers, as FSMoE's authors ran it "
    "[0]"};

/// Tutel-Improved: PipeMoE's pipeline. The gradients of a block are all-reduced whole beside a
/// dense part of backward (with_whole_gradients). Degrees are chosen by simulation, forward and
/// backward apart. [FSMoE 6.1 and its baseline, code] Where that is slower than PipeMoE itself,
/// gradients are all-reduced after backward, as there. With kReleasedDegree both phases have one
/// degree, as Tutel's have, and gradients are always reduced beside dense parts.
moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options);

/// With these degrees, and gradients beside dense parts.
moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees);

}  // namespace tuner
