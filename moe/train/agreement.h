#pragma once

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// The losses of an iteration, and whether training ends with it: all ranks agree on them before
/// any parameter is updated.
struct Agreement {
  double cross_entropy = 0;
  double auxiliary = 0;
  double z_loss = 0;
  int stop_signal = 0;  ///< the signal that asked any rank to end (stop.h); 0 where none did
  bool output_is_lost = false;  ///< any rank has an output that cannot be written any more

  bool is_finite() const;
  bool asks_to_end() const { return stop_signal != 0 || output_is_lost; }
};

/// A scalar of the runner's Program, between iterations or before an update.
double read_scalar(const Runner& runner, TensorId tensor);

/// Sums the losses over ranks; each rank holds its share of the global means. `output_is_lost`: of
/// this rank. Collective.
Agreement agree(const Runner& runner, Communicator& world, double time_limit_s,
                bool output_is_lost = false);

}  // namespace moe
