#pragma once

#include <cstdint>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// The seconds that a training of the study takes beside its iterations: until its ranks run, and for
/// all that these do before and after. The median of those that are stored, or where it has none
/// yet, of earlier trainings of its model; 0 where there is none of these either.
double seconds_beside_iterations(const db::Connection& connection, const db::Study& study);

}  // namespace tuner
