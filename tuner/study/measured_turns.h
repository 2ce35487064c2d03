#pragma once

#include <cstdint>

#include "db/connection.h"
#include "tuner/study/ties.h"

namespace tuner {

/// The iterations of all repeats of a trial that are stored, without warm-up. A repeat without such
/// iterations, whose run was deleted or which was not longer than its warm-up, is one turn of its
/// median. Repeats of 0 s are left out.
Turns measured_turns(const db::Connection& connection, std::int64_t trial_id);

}  // namespace tuner
