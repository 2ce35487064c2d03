#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuner/costs/fit.h"

namespace tuner {

/// Two runs whose links differed.
struct MixedRates {
  std::int64_t run = 0;        ///< the run that has most of the samples
  std::int64_t other_run = 0;  ///< the run that differs most from it
  double ratio = 1;            ///< the other's seconds over those of the run's line
};

/// Compares the samples of each run with the line of the run that has most of them. A run differs
/// where the median of its ratios, at sizes that the line was measured at or beyond, is 1.5 or
/// more, or 1 / 1.5 or less. None where all runs agree. One sample is no run of another rate: it
/// may be an outlier.
std::optional<MixedRates> find_mixed_rates(
    const std::map<std::int64_t, std::vector<Sample>>& samples_of_run);

}  // namespace tuner
