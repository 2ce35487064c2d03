#pragma once

#include <functional>

#include "moe/communicator/communicator.h"

namespace moe {

/// How clocks are compared.
struct ClockComparison {
  double time_limit_s = kDefaultTimeLimit_s;  ///< a quarter of it may pass until a clock is unknown
  int rounds = 32;                            ///< questions to a rank, at most
  std::function<double()> clock_s;            ///< this rank's clock
};

/// measure_clock_offset() of communicator.h by any clock.
ClockOffset measure_clock_offset(Communicator& world, const ClockComparison& how);

/// Whether the offset was measured. Else it is 0, and its error has no bound.
bool is_known(const ClockOffset& offset);

}  // namespace moe
