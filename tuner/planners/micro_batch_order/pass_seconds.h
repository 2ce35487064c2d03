#pragma once

#include <vector>

#include "moe/passes/order_micro_batches.h"
#include "tuner/planners/situation/situation_costs.h"

/// How long the stages of a pipeline take, where nothing waits.
namespace tuner {

/// The seconds of the passes of one micro-batch in a stage.
struct PassSeconds {
  double forward = 0, backward = 0, weight_gradient = 0;
  double all() const { return forward + backward + weight_gradient; }
};

struct PipelineSeconds {
  std::vector<PassSeconds> stages;
  double pass_on = 0;  ///< the longest way from a stage to another
  double once = 0;     ///< what comes once in an iteration, on the stage where it takes longest
};

/// The order's own waiting does not count: every op takes the time that it takes alone.
PipelineSeconds pipeline_seconds(const TimedProgram& timed);

/// The order for passes that take as long as these, in stages of so many chunks.
moe::OrderMicroBatches with_times(moe::OrderMicroBatches ordering, const PipelineSeconds& seconds,
                                  int chunks = 1);

}  // namespace tuner
