#pragma once

#include <functional>

#include "moe/passes/schedule.h"
#include "tuner/planners/gradients/gradient_places.h"
#include "tuner/planners/gradients/gradient_shares.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/planner.h"

/// FSMoE's two steps of sharing gradients out over the backward phase [FSMoE 5], for a schedule
/// whose exchanges and all-reduces have their streams and whose gradients are neither sliced nor
/// placed.
namespace tuner {

/// The places where step 1 looks for idle time.
enum class Fill {
  all_of_backward,  ///< everywhere, as the paper does
  /// Not between dispatch and combine: there an all-reduce delays the reduce-scatter and the
  /// combine.
  dense_parts,
};

/// The number of quanta of gradients that step 2 shares out.
inline constexpr int kGradientQuanta = 128;

/// The time of a layer's backward phase with an all-reduce of `gar_s` after its last dispatch.
using PhaseSeconds = std::function<double(int layer, double gar_s)>;

/// The gradients of a stage that step 1 leaves for step 2. The result refers to `stage`.
GradientRest rest_of_stage(const StageGradients& stage, Fill fill, const PhaseSeconds& phase_s);

/// The schedule with its gradients shared out by both steps.
moe::Schedule with_gradients_shared(const UnplacedGradients& gradients, Fill fill,
                                    const PhaseSeconds& phase_s);

/// The same with phases timed by FSMoE's equations for the chunks that the schedule has. Throws
/// moe::Refusal where a layer is cut along the batch in backward.
moe::Schedule with_gradients_filled(const UnplacedGradients& gradients, Fill fill);

/// The phase of a layer in the last micro-batch: gradients wait for its backward.
PipelineOf last_of(const moe::Program& program, int layer, moe::Phase phase);

}  // namespace tuner
