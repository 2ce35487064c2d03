#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"

namespace db {

/// What was added from one file.
struct Merged {
  std::int64_t runs = 0;
  std::int64_t studies = 0;
  std::int64_t timelines = 0;
  /// Its studies whose names were taken, and the names that they got.
  std::vector<std::pair<std::string, std::string>> renamed;
  /// The number by which a row of these tables grew: run 3 of the file is run 3 + new_runs.
  std::int64_t new_runs = 0;
};

/// Adds all rows of the database `file` to the open one, in one transaction. They get new ids; equal
/// machines and schedules are shared. The file may be written meanwhile: its rows are those of one
/// moment. Throws Error: `invalid` where a run of the file is there
/// already, as in a copy; then nothing is added.
Merged merge_from(Connection& into, const std::string& file);

/// Makes the database `output`, which must not be there, of all rows of these files. It has its name
/// only once it is whole. Throws Error.
std::vector<Merged> merge_files(const std::vector<std::string>& files, const std::string& output);

}  // namespace db
