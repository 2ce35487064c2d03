#pragma once

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kSliceMegabytes{
    "slice_mb", 1, 100'000, "most megabytes of gradients that one all-reduce sums [30]"};

/// Bytes that Lina sums in one all-reduce. [FSMoE 6.4, "e.g., 30MB"]
inline constexpr double kLinaSliceBytes = 30e6;

/// PipeMoE + Lina: PipeMoE's pipeline, and gradients all-reduced in slices of at most 30 MB
/// wherever backward leaves the stream of the all-to-all idle. The all-to-all comes first: a slice
/// begins only while nothing else waits for the stream, and is not interrupted then. Degrees are
/// chosen by simulation, forward and backward apart. [FSMoE 6.4, after Lina]
moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options);

/// The same with these degrees and slices of at most `slice_bytes`.
moe::Schedule pipemoe_lina_schedule(const Situation& situation, Degrees degrees,
                                    double slice_bytes = kLinaSliceBytes);

}  // namespace tuner
