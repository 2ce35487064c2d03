#pragma once

#include <vector>

#include "db/records.h"

namespace tuner {

/// The trials of a study that are to run for real: sequential, then the `top` best by prediction (StudyOptions::top) among
/// those that have not failed; those measured before count too.
std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top);

}  // namespace tuner
