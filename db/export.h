#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// Lane of each span of one rank and stream, 0 the first: spans of a lane follow or enclose one
/// another and never overlap in part, which is what the trace-event format demands of a thread.
/// `start_ns` ascending, of equal ones the longer first.
struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};
std::vector<int> assign_lanes(std::span<const Interval> intervals);

/// Writes timelines as Chrome trace-event JSON, which Perfetto and chrome://tracing open: pid =
/// rank (rank + 1000 for the second timeline, and so on), tid = stream and lane, `ts` and `dur` in
/// microseconds with three decimals, and op, layer, chunk, phase, bytes and FLOPs in `args`. `path`
/// is that of an OutputFile, which must not be the database. Throws Error or OutputError.
void export_trace(const Connection& connection, std::span<const std::int64_t> timeline_ids,
                  const std::string& path);

/// The timeline that `--run` stands for: that of the last iteration measured, else the shortest
/// prediction. Throws Error where the run has none.
Timeline default_timeline(const Connection& connection, std::int64_t run_id);

/// Writes how many tokens every rank sent to every expert in one iteration, as JSON that `moe-tune
/// --routing FILE` reads: an entry for each MoE layer and micro-batch. The ranks of a layer are
/// those of its pipeline stage. `path` is as above. Throws Error (not_found) where the loads of the
/// iteration are not stored.
void export_routing(const Connection& connection, std::int64_t run_id, int iteration,
                    const std::string& path);

/// The last iteration of a run whose loads are stored. Throws Error (not_found) where none are.
int last_loads_iteration(const Connection& connection, std::int64_t run_id);

}  // namespace db
