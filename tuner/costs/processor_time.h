#pragma once

#include <vector>

#include "db/timeline/intervals.h"
#include "tuner/costs/cluster.h"

namespace tuner {

/// The share of the processors that a computing rank has over time, where ranks share them: each
/// gets min(1, P / n) while n of them compute.
class ProcessorTime {
 public:
  /// `busy`: when each rank computed or copied, merged.
  ProcessorTime(const std::vector<std::vector<db::TimeInterval>>& busy,
                const SharedProcessors& shared);

  /// Seconds of one processor that an op of this interval has had.
  double of(const db::TimeInterval& interval) const {
    return until(interval.end_s) - until(interval.begin_s);
  }

 private:
  double until(double time) const;

  std::vector<double> times_;   ///< ascending
  std::vector<double> shares_;  ///< from each of the times on
  std::vector<double> sums_;    ///< seconds before each of the times
};

}  // namespace tuner
