#pragma once

#include <cstdint>

#include "moe/model/model.h"
#include "tuner/planners/situation/planner.h"
#include "tuner/search/setup_pieces.h"

/// What no schedule of a setup can do with less of, by the pieces of the setup.
namespace tuner {

/// A time that no schedule of planners that pass micro-batches so can beat, from the work of the
/// fullest stage (where blocks may move, of the mean stage):
///   one_after_other      m times the passes through all stages, and what the first does once
///   filled_and_drained   a pass of the stages before and m of its own, or forward before, m of its
///                        own and what comes once, with the best cuts into whole blocks
///   bubbles_filled       m passes of the mean stage
///   exchanges_hidden     m times what stays on the stream that computes, or what need not, the longer
///   undecided            m times what stays on the stream that computes, of the mean stage
/// `bubbles_filled` with what comes once, and the first four with what must be computed again to keep
/// to `memory_bytes` of a rank, which is no less than least_bytes(); 0: of no matter. [ours]
double bound_s(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
               Passes passes, std::int64_t memory_bytes = 0);

/// Bytes that no such schedule can do without on the rank that needs most: states, and what
/// micro-batches keep from forward to backward. One is under way, and where stages are filled and
/// drained, as many as there are stages from a stage on, wherever blocks are cut.
std::int64_t least_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup, Passes passes);

/// The least bytes of states on the rank that has most, wherever blocks are cut into stages.
std::int64_t state_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup);

}  // namespace tuner
