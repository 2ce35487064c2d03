#pragma once

#include <vector>

#include "db/records.h"

/// How long the steps of a training took.
namespace viewer {

struct StepTimes {
  double median_s = 0;
  double p5_s = 0;   ///< 5% of the steps are shorter
  double p95_s = 0;  ///< 5% are longer
  /// The iterations that have another schedule than the one before.
  std::vector<int> changes;
};

/// Of the iterations after the first two, which touch memory for the first time; of all where there
/// are no others. Zeros where there are none.
StepTimes step_times(const std::vector<db::Iteration>& iterations);

/// By iteration, the median of its durations in several runs. Ascending.
std::vector<db::Iteration> median_steps(const std::vector<std::vector<db::Iteration>>& runs);

}  // namespace viewer
