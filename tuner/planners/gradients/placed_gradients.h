#pragma once

#include <functional>

#include "moe/passes/schedule.h"
#include "tuner/planners/gradients/gradient_places.h"

/// Rules for the places of gradients in backward, for schedules whose exchanges and all-reduces have
/// their streams and whose gradients are neither sliced nor placed.
namespace tuner {

/// The places where FSMoE's step 1 looks for idle time.
enum class Fill {
  all_of_backward,  ///< everywhere, as the paper does
  /// Not between dispatch and combine: there an all-reduce delays the reduce-scatter and the
  /// combine.
  dense_parts,
};

/// The time of a layer's backward phase with an all-reduce of `gar_s` after its last dispatch.
using PhaseSeconds = std::function<double(int layer, double gar_s)>;

/// FSMoE's two steps of sharing gradients out over the backward phase [FSMoE 5].
moe::Schedule with_gradients_shared(const UnplacedGradients& gradients, Fill fill,
                                    const PhaseSeconds& phase_s);

/// The same with phases timed by FSMoE's equations for the chunks that the schedule has. Throws
/// moe::Refusal where a layer is cut along the batch in backward.
moe::Schedule with_gradients_filled(const UnplacedGradients& gradients, Fill fill);

/// The gradients of each block all-reduced whole beside the first dense part of backward that
/// begins after they exist: after the combine of the next MoE layer, or in a block without experts.
/// [FSMoE 6.1 and its baseline Tutel-Improved, code]
moe::Schedule with_whole_gradients(const UnplacedGradients& gradients);

/// Each slice in turn at the first place where it exists and others leave the stream idle: it begins
/// only while nothing else waits for the stream, and is not interrupted then.   [FSMoE 6.4, of Lina]
moe::Schedule with_sliced_gradients(const UnplacedGradients& gradients);

/// The phase of a layer in the last micro-batch: gradients wait for its backward.
PipelineOf last_of(const moe::Program& program, int layer, moe::Phase phase);

}  // namespace tuner
