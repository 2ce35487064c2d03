#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"

namespace tuner {

/// Works out what the finished trials of a study show: which of them are tied (ties.h), and how
/// good the predictions were (prediction_quality.h). Stores both in one transaction, where they
/// replace those of before, and returns them in words, a line each. Predictions are those from
/// before any refinement, except for the share within a deviation, which is of the newest.
std::vector<std::string> store_conclusions(db::Connection& connection, std::int64_t study_id);

}  // namespace tuner
