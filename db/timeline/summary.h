#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/timeline/intervals.h"
#include "db/timeline/statistics.h"
#include "db/timeline/timeline.h"

/// Where the time of a timeline went.
namespace db {

struct Summary {
  TimeInterval range;  ///< the part that was looked at
  std::vector<RankStatistics> ranks;
  RankStatistics mean;  ///< the mean over ranks
  /// Whether the timeline tells how long communications waited for other ranks. Where it does not,
  /// all exposed time counts as transfer.
  bool knows_waiting = false;
};

/// Statistics of the part of `timeline` inside `range`. Of spans that cross the border, the part
/// inside counts. Costs O(ranks log spans), so that figures follow a drag.
Summary summarize(const Timeline& timeline, TimeInterval range);

/// Share of the communication time during which computation ran too; none where nothing was
/// communicated.
std::optional<double> covered_share(const RankStatistics& rank);

/// "exposed 26.7% (12.9% transfer, 9.7% waiting, 4.1% bubble)" of the summary's range, or of `rank`
/// in it. Parts that took nothing are left out; there are none where waiting is not known.
std::string exposed_text(const Summary& summary, const RankStatistics& rank);

/// How much of the range was covered, exposed and idle, mean of the ranks. Each begins with "marked
/// range:" where the range is one that somebody marked.
std::vector<std::string> summary_facts(const Summary& summary, bool is_marked);

}  // namespace db
