#pragma once

#include <optional>
#include <vector>

#include "db/timeline_statistics.h"
#include "viewer/model/time_range.h"
#include "viewer/model/timeline.h"

/// Where the time of a timeline went.
namespace viewer {

struct Summary {
  TimeRange range;  ///< the part that was looked at
  std::vector<db::RankStatistics> ranks;
  db::RankStatistics mean;  ///< the mean over ranks
};

/// Statistics of the part of `timeline` inside `range`. Of spans that cross the border, the part
/// inside counts. Costs O(ranks log spans), so that figures follow a drag.
Summary summarize(const Timeline& timeline, TimeRange range);

/// Share of the communication time during which computation ran too; none where nothing was
/// communicated.
std::optional<double> covered_share(const db::RankStatistics& rank);

}  // namespace viewer
