#pragma once

#include <span>
#include <vector>

#include "db/timeline_statistics.h"
#include "viewer/model/timeline.h"

/// Running sums of how ranks spent their time. No drawing here.
namespace viewer {

/// The ledger of one rank. `lanes` are all of the rank's, `activities` those of the ops by place.
TimeLedger build_ledger(int rank, std::span<const Lane> lanes,
                        std::span<const OpActivity> activities);

/// How the rank of `ledger` spent the part of its timeline inside `range`. Costs O(log n), however
/// long the range is.
db::RankStatistics statistics(const Timeline& timeline, const TimeLedger& ledger, TimeRange range);

}  // namespace viewer
