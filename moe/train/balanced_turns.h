#pragma once

#include <functional>

#include "moe/run/runner.h"

namespace moe {

/// The median durations of the steps of one schedule.
struct BalancedTurns {
  double usual_s = 0;     ///< as gates route
  double balanced_s = 0;  ///< with even routing (with_even_routing)

  /// The share of the throughput of even routing that a step has.
  double share() const { return balanced_s / usual_s; }
};

/// Steps with even routing and steps as they are take turns, `steps` of each and one of each before
/// them, so that both meet the same machine. `run` carries out an iteration and returns how long it
/// took over all ranks. Parameters are updated as in training. The runner is left with `scheduled`.
BalancedTurns take_balanced_turns(Runner& runner, const Program& scheduled, int steps,
                                  const std::function<double()>& run);

}  // namespace moe
