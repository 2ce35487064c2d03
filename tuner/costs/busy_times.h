#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "db/timeline/statistics.h"
#include "tuner/costs/beside.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/interference.h"

/// When ranks were busy, and how much of a processor they had.
namespace tuner {

/// The intervals during which a rank had each occupation.
class BusyTimes {
 public:
  void add(Occupation occupation, db::TimeInterval interval) {
    each_[static_cast<std::size_t>(occupation)].push_back(interval);
  }
  /// Called once, after the last add().
  void merge();

  /// How long the other occupations were at work during an interval of `own`.
  BesideSeconds beside(Occupation own, db::TimeInterval interval) const;
  /// When it computed or copied.
  const std::vector<db::TimeInterval>& processors() const { return processors_; }

 private:
  std::array<std::vector<db::TimeInterval>, kOccupations> each_;
  std::array<std::vector<db::TimeInterval>, kOccupations> others_;   ///< all but this one
  std::array<std::vector<db::TimeInterval>, kOccupations> several_;  ///< two of the others or more
  std::vector<db::TimeInterval> links_;                              ///< either link
  std::vector<db::TimeInterval> processors_;
};

/// The share of the processors that a computing rank has over time, where ranks share them: each
/// gets min(1, P / n) while n of them compute.
class SharedTime {
 public:
  /// `busy` by rank, merged.
  SharedTime(const std::vector<BusyTimes>& busy, const SharedProcessors& shared);

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
