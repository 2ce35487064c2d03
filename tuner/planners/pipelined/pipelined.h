#pragma once

#include <string>
#include <vector>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

/// Planners that cut every MoE layer into chunks, with the all-to-all on one stream of communication
/// beside the experts. They differ in the choice of degrees, and in when gradients are all-reduced.
namespace tuner {

inline constexpr PlannerOption kReleasedDegree{
    "released", 0, 1,
    "1: one degree for both phases and gradients beside dense layers, as FSMoE's authors ran it "
    "[0]"};
inline constexpr PlannerOption kSliceMegabytes{
    "slice_mb", 1, 100'000, "most megabytes of gradients that one all-reduce sums [30]"};

/// Tutel: a person fixes one degree (kDegree, 2 unless asked) for both phases. Gradients are
/// all-reduced after backward. [FSMoE's baseline as its authors ran it, code]
moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options);
/// The degree that was asked for, else 1 to 4 and 8, up to the most chunks.
std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options);

/// PipeMoE: Tutel's pipeline with the best degrees, forward and backward apart, by simulation: the
/// paper's closed form never over-estimates but may under-estimate.
moe::Schedule plan_pipemoe(const Situation& situation, const PlannerOptions& options);
/// The degrees of its schedule beside those of the closed form.
std::string pipemoe_remark(const Situation& situation, const PlannerOptions& options,
                           const moe::Schedule& schedule);
/// Candidates with every pair of degrees up to 4 (and up to the most chunks), and its own choice.
std::vector<Candidate> pipemoe_candidates(const Situation& situation,
                                          const PlannerOptions& options);

/// Tutel-Improved: PipeMoE's pipeline. The gradients of a block are all-reduced whole beside a
/// dense part of backward (with_whole_gradients). Degrees are chosen by simulation, forward and
/// backward apart. [FSMoE 6.1 and its baseline, code] Where that is slower than PipeMoE itself,
/// gradients are all-reduced after backward, as there. With kReleasedDegree both phases have one
/// degree, as Tutel's have, and gradients are always reduced beside dense parts.
moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options);
/// With these degrees, and gradients beside dense parts.
moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees);

/// PipeMoE + Lina: PipeMoE's pipeline, and gradients all-reduced in slices of at most 30 MB
/// wherever backward leaves the stream of the all-to-all idle (with_sliced_gradients). Degrees are
/// chosen by simulation, forward and backward apart. [FSMoE 6.4, after Lina, "e.g., 30MB"]
moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options);
/// The same with these degrees and slices of at most `slice_bytes`.
moe::Schedule pipemoe_lina_schedule(const Situation& situation, Degrees degrees,
                                    double slice_bytes = 30e6);

}  // namespace tuner
