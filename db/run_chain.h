#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// A training that was resumed is several runs, each of which knows the one that it goes on from
/// (Run::resumes_run_id).
namespace db {

/// What tells a run from all others, in whatever database it is and whatever its number there.
struct RunIdentity {
  double started_at = 0;
  std::int64_t pid = 0;
  std::string hostname;

  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

/// The run in this database; none where it is not there.
std::optional<std::int64_t> find_run(const Connection&, const RunIdentity&);

/// "iteration 4", "iterations 4 to 6"
std::string iterations_text(std::int64_t first, std::int64_t last);

/// The last iteration of which a run has a row.
struct LastStored {
  std::int64_t run_id = 0;
  int iteration = 0;
};
/// That of this run, or where it has no rows, of the next one with rows among those that it goes on
/// from. None where none of them has any.
std::optional<LastStored> last_stored(const Connection&, std::int64_t run_id);

/// The iterations of all runs that this one goes on from, in order. Those of an earlier run that a
/// later one has repeated are void and left out.
std::vector<Iteration> load_iterations_before(const Connection&, std::int64_t run_id);

}  // namespace db
