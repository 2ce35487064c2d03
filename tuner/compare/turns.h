#pragma once

#include <map>
#include <span>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// Seconds of the iterations of one schedule, by number of the repeat and of the iteration in it.
/// Schedules that have both numbers in common took turns there.
using Turns = std::map<int, std::map<int, double>>;

/// Of all turns; at least one.
double median_s(const Turns& turns);

/// The stored iterations of all these repeats of a trial, without warm-up. A repeat without such
/// iterations, whose run was deleted or which was not longer than its warm-up, is one turn of its
/// median. Repeats of 0 s are left out.
Turns measured_turns(const db::Connection& connection, std::span<const db::TrialRepeat> repeats);

}  // namespace tuner
