#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/study/ties.h"

namespace tuner {

/// The stored iterations of all these repeats of a trial, without warm-up. A repeat without such
/// iterations, whose run was deleted or which was not longer than its warm-up, is one turn of its
/// median. Repeats of 0 s are left out.
Turns measured_turns(const db::Connection& connection, std::span<const db::TrialRepeat> repeats);

/// A trial that has ended, and its turns, at least one.
struct MeasuredTrial {
  db::Trial trial;
  Turns turns;
};
/// Those of a study, in its order. Throws db::Error.
std::vector<MeasuredTrial> measured_trials(const db::Connection& connection, std::int64_t study_id);

}  // namespace tuner
