#pragma once

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// What all ranks learn of an iteration together, before any parameter is updated.
struct Agreement {
  double cross_entropy = 0;
  double auxiliary = 0;
  double z_loss = 0;
  int stop_signal = 0;  ///< that asked any rank to end (stop.h); 0 where none

  bool is_finite() const;
};

/// Sums the losses over ranks, each of which holds its share of the global means. Collective.
Agreement agree(const Runner& runner, Communicator& world, double time_limit_s);

}  // namespace moe
