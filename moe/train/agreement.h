#pragma once

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// The losses and the stop signal of an iteration, on which all ranks agree before any parameter is
/// updated.
struct Agreement {
  double cross_entropy = 0;
  double auxiliary = 0;
  double z_loss = 0;
  int stop_signal = 0;  ///< the signal that asked any rank to end (stop.h); 0 where none did

  bool is_finite() const;
};

/// A scalar of the runner's Program, between iterations or before an update.
double read_scalar(const Runner& runner, TensorId tensor);

/// Sums the losses over ranks; each rank holds its share of the global means. Collective.
Agreement agree(const Runner& runner, Communicator& world, double time_limit_s);

}  // namespace moe
