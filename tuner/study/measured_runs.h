#pragma once

#include <cstddef>
#include <list>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "tuner/costs/calibrate.h"

namespace tuner {

/// The measured iterations of stored training runs of one model.
struct MeasuredRuns {
  std::list<moe::Program> programs;  ///< of the runs; iterations point at them
  std::vector<MeasuredIteration> iterations;
  std::vector<std::size_t> runs;  ///< [iteration]: the place of its run
};

/// Adds the measured timelines of a run with a stored schedule, without warm-up iterations where
/// there are others. False where it has none. `whole`: the iteration that schedules are applied
/// to, in the run's layout. Throws db::Error where a timeline or its loads are not of `whole`.
bool add_run(const db::Connection& connection, const moe::Program& whole, const db::Run& run,
             MeasuredRuns& measured);

/// Whether a measured timeline of the run has its spans still (db/prune.h).
bool has_measured_timeline(const db::Connection& connection, std::int64_t run_id);

/// Reads a stored timeline, with its spans by rank and op as the runner made it.
moe::Timeline load_op_timeline(const db::Connection& connection, const db::TimelineInfo& timeline,
                               int ranks, std::size_t ops);

}  // namespace tuner
