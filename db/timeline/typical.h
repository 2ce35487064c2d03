#pragma once

#include <optional>
#include <vector>

#include "db/records.h"

namespace db {

/// The timeline that stands for a run or a trial. Measured ones count before others, and those that
/// warmed up last. Of several, the one whose duration is nearest to `figure_s`, without that figure
/// the one of median duration; of equals the last. Null where there is none.
const TimelineInfo* typical_timeline(std::vector<const TimelineInfo*> timelines,
                                     std::optional<double> figure_s);

}  // namespace db
