#pragma once

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// What Lina reduces at once, of a block's gradients.                                     [FSMoE 6.4, "e.g., 30MB"]
inline constexpr double kLinaChunkBytes = 30e6;

/// PipeMoE + Lina: PipeMoE's pipeline, and gradients all-reduced in chunks of at most 30 MB wherever backward leaves
/// the stream of the all-to-all idle, all-to-all first: a chunk goes out only while nothing else waits for the
/// stream, and is then not taken back. Degrees by simulation, forward and backward apart.  [FSMoE 6.4, after Lina]
moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options);

/// The same with these degrees, and chunks of so many bytes.
moe::Schedule pipemoe_lina_schedule(const Situation& situation, Degrees degrees,
                                    double chunk_bytes = kLinaChunkBytes);

/// Its own choice.
std::vector<Candidate> pipemoe_lina_candidates(const Situation& situation,
                                               const PlannerOptions& options);

}  // namespace tuner
