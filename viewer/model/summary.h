#pragma once

#include <string>
#include <vector>

#include "viewer/model/time_range.h"
#include "viewer/model/timeline.h"

/// Where the time of a timeline went, per rank.
namespace viewer {

/// Stretches of time in order that neither touch nor overlap.
using Intervals = std::vector<TimeRange>;

/// The union of `ranges`, sorted.
Intervals merged(std::vector<TimeRange> ranges);

/// Seconds covered by both a and b. Both must be merged.
double common_length_s(const Intervals& a, const Intervals& b);

double total_length_s(const Intervals& intervals);

struct StreamBusy {
  std::string stream;
  double busy_s = 0;
};

struct RankSummary {
  int rank = 0;
  std::vector<StreamBusy> streams;  ///< every stream of the timeline, in the order of stream_order
  double computation_s = 0;         ///< time during which at least one computation ran
  double communication_s = 0;       ///< time during which at least one communication ran
  double covered_s = 0;             ///< communication time during which computation ran too
  double idle_s = 0;                ///< time of `range` during which nothing ran

  /// covered / communication; 0 where nothing was communicated.
  double overlap() const { return communication_s > 0 ? covered_s / communication_s : 0; }
};

struct Summary {
  TimeRange range;  ///< the stretch that was looked at
  std::vector<RankSummary> ranks;

  RankSummary mean() const;     ///< of every figure over ranks; rank -1
  double mean_overlap() const;  ///< total covered / total communication over ranks
  double mean_idle() const;     ///< idle share of range, mean over ranks
};

/// Statistics of the part of `timeline` inside `range`; spans that cross the border count with the
/// part inside.
Summary summarize(const Timeline& timeline, TimeRange range);

/// Time per op kind over all ranks inside `range`, longest first.
struct KindTime {
  std::string kind;
  double total_s = 0;
  std::size_t spans = 0;
};
std::vector<KindTime> time_by_kind(const Timeline& timeline, TimeRange range);

}  // namespace viewer
