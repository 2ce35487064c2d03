#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "db/timeline/intervals.h"
#include "tuner/costs/beside.h"
#include "tuner/costs/interference.h"

namespace tuner {

/// The intervals during which a rank had each occupation.
class BusyTimes {
 public:
  void add(Occupation occupation, db::TimeInterval interval) {
    each_[static_cast<std::size_t>(occupation)].push_back(interval);
  }
  /// Called once, after the last add().
  void merge();

  /// How long the other occupations were at work during an interval of `own`. A collective that
  /// waits for one link while it uses the other is slowed by neither.
  BesideSeconds beside(Occupation own, db::TimeInterval interval) const;
  /// When it computed or copied.
  const std::vector<db::TimeInterval>& processors() const {
    return others_[static_cast<std::size_t>(Occupation::inter_node)];  // which both slow
  }

 private:
  std::array<std::vector<db::TimeInterval>, kOccupations> each_;
  std::array<std::vector<db::TimeInterval>, kOccupations> others_;  ///< all that may slow this one
};

}  // namespace tuner
