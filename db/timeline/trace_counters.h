#pragma once

#include <cstdint>
#include <vector>

#include "db/timeline/timeline.h"

namespace db {

/// What a rank's communications were at a moment, until the next sample.
struct CounterSample {
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;  ///< of the communications that run
  bool exposed = false;    ///< whether one runs while nothing is computed
  bool operator==(const CounterSample&) const = default;
};

/// The samples of the rank of a ledger, at each moment at which one of them changes, ascending.
std::vector<CounterSample> counter_samples(const Timeline& timeline, const TimeLedger& rank);

}  // namespace db
