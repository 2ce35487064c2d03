#pragma once

#include <cstdint>

#include "db/connection.h"

namespace db {

/// What was removed, and what for that was not.
struct Pruned {
  std::int64_t timelines = 0;  ///< whose spans, ops, edges and memory were removed
  std::int64_t spans = 0;
  std::int64_t kept_for_studies = 0;               ///< older ones that costs of a study come from
  std::int64_t bytes_before = 0, bytes_after = 0;  ///< of the file
};

/// Removes the spans, ops, edges and memory of all timelines but the newest `keep` of each trial (of
/// a run that is of no trial) and kind, and gives their space back. How their ranks spent their time
/// stays (RankActivity, OpActivity), and all else. The timelines that the costs of a study come from
/// (of its profile, its micro-profiles and the runs of its refinements) stay whole: studies that go
/// on read them. A later refinement is fitted to the runs that have spans then. Throws Error.
Pruned prune_timelines(Connection&, int keep);

}  // namespace db
