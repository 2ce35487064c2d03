#pragma once

#include <span>
#include <vector>

#include "db/timeline/statistics.h"
#include "db/timeline/timeline.h"

/// Running sums of how ranks spent their time.
namespace db {

/// The ledger of one rank. `lanes` are all of the rank's, `counted` what ops count as, by place.
TimeLedger build_ledger(int rank, std::span<const Lane> lanes, std::span<const CountedAs> counted);

/// How the rank of `ledger` spent the part of its timeline inside `range`. Costs O(log n), however
/// long the range is.
RankStatistics statistics(const Timeline& timeline, const TimeLedger& ledger, TimeInterval range);

}  // namespace db
