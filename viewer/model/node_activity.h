#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "viewer/model/timeline.h"

/// What the ranks of a node did, pixel by pixel: what its band is drawn from. No drawing here.
namespace viewer {

/// Equal parts of a time axis. Part i is [(first + i) part_s, (first + i + 1) part_s), so that the
/// parts stay where they are while the view pans.
struct TimeParts {
  std::int64_t first = 0;
  std::size_t count = 0;
  double part_s = 0;

  TimeRange of(std::size_t i) const {
    const double begin = static_cast<double>(first + static_cast<std::int64_t>(i)) * part_s;
    return {begin, begin + part_s};
  }
  TimeRange all() const { return {of(0).begin_s, of(count).begin_s}; }
  bool operator==(const TimeParts&) const = default;
};

/// The parts of `part_s` that cover `range`, with half its length more on both sides.
TimeParts parts_around(TimeRange range, double part_s);

/// Seconds of a part, summed over ranks.
struct PartTime {
  float computation_s = 0;
  float exposed_s = 0;  ///< of communication while nothing was computed
  float busy_s = 0;     ///< during which anything ran
};

/// What a node did in each part, while its ranks are added one after the other.
struct NodeActivity {
  TimeParts parts;
  std::vector<PartTime> times;  ///< one per part
  std::size_t ranks = 0;        ///< how many have been added
};

/// Adds a rank to the sums. Where the moments of its ledger lie as close as the parts, they are
/// interpolated between; elsewhere the spans themselves are read. Costs at most the spans of the
/// rank in view, and no more than a few moments a part.
void add_rank(NodeActivity& activity, const Timeline& timeline, const TimeLedger& ledger);

}  // namespace viewer
