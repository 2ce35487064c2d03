#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// Draws the conclusions from the finished trials of a study: how they compare (comparison.h), and
/// the quality of the predictions (prediction_quality.h). Stores both in one transaction, in place
/// of earlier ones, and returns them in words, a line each. Predictions are those from before any
/// refinement. Only the share within a deviation is of the newest.
std::vector<std::string> store_conclusions(db::Connection& connection, std::int64_t study_id);

/// Of a study in which no trial fits the memory limit: which needs least, and what may help. "" of
/// any other.
std::string where_nothing_fits(const std::vector<db::Trial>& trials,
                               std::int64_t memory_limit_bytes);

/// Why a study compares nothing: none of its trials was measured, or that of the sequential
/// schedule hung, crashed, failed or was not started, so that there is nothing to compare with. ""
/// where it does. A sequential schedule that needs more memory than there is leaves a comparison
/// with the fastest.
std::string why_nothing_compares(const std::vector<db::Trial>& trials);

}  // namespace tuner
