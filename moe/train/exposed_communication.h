#pragma once

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"

namespace moe {

/// Seconds of an iteration during which a rank communicated and did not compute: the mean over
/// ranks. In the rest of all_s something was transferred.
struct ExposedCommunication {
  double all_s = 0;
  double waiting_s = 0;  ///< of it the rank waited for others of its pipeline stage
  double bubble_s = 0;   ///< of it the rank waited for another stage
};

/// `program` is the whole one that was run, `timeline` has all ranks.
ExposedCommunication exposed_communication(const Program& program, const Timeline& timeline,
                                           const Groups& groups);

}  // namespace moe
