#pragma once

#include <string>
#include <vector>

#include "db/connection.h"

namespace db {

/// The faults of a database, one sentence each; empty where it is sound. Faults are damaged pages,
/// references to rows that do not exist, tables that differ from this version's, values that no
/// program stores (number_range.h, row_bounds.h), runs and trials that say "running" without a
/// heartbeat for `stale_after_s` or with one that is as far ahead, runs that end before they begin,
/// iterations that a training has no rows of, timelines without spans, spans without an op, studies
/// whose profile runs are gone.
std::vector<std::string> find_problems(const Connection& connection, double stale_after_s);

/// Reads the file again and ignores the pages that this connection has in memory. Throws Error
/// (gone) where pages are damaged: somebody else wrote into the file. Of a large file it reads only
/// the small tables. Does nothing for a database in memory.
void require_sound(const Connection& connection);

struct Fixed {
  int requeued_trials = 0;
  int killed_runs = 0;
};
/// Requeues stale trials and marks stale runs as killed; it mends neither damage nor lost rows.
Fixed fix_stale(Connection& connection, double stale_after_s);

}  // namespace db
