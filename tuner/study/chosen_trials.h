#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/records.h"

namespace tuner {

/// The trials of a study that are to be trained: sequential, then the `top` best by prediction
/// (StudyOptions::top) of those that have not failed. Trials that were measured before count among
/// these. The one that was measured `fastest` (its id) is there in any case: what a refinement adds
/// is trained beside it.
std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top,
                                     std::optional<std::int64_t> fastest);

}  // namespace tuner
