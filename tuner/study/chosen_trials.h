#pragma once

#include <vector>

#include "db/records.h"

namespace tuner {

/// The trials of a study that are to be trained: sequential, then the `top` best by prediction
/// (StudyOptions::top) of those that have not failed. Trials that were measured before count among
/// these.
std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top);

}  // namespace tuner
