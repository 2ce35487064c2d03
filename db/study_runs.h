#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/records.h"

/// The runs that a study's columns name in JSON. None where a column holds something else, which no
/// study that was loaded does (row_bounds.h).
namespace db {

/// profile_runs_json
std::optional<std::vector<std::int64_t>> profile_runs(const Study& study);

/// refinement_runs_json: for each refinement, its runs.
std::optional<std::vector<std::vector<std::int64_t>>> refinement_runs(const Study& study);

}  // namespace db
