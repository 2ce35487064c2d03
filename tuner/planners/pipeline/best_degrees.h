#pragma once

#include <functional>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The best degrees by `seconds_of`: 1 .. most of one phase with the other uncut, then of the other
/// phase. The loss stands between the phases, so they do not compete. Of equals fewer chunks.
Degrees best_degrees(int most, const std::function<double(Degrees)>& seconds_of);

/// By simulation of what `schedule_of` plans for each.
Degrees best_degrees_by_simulation(const Situation& situation, int most,
                                   const std::function<moe::Schedule(Degrees)>& schedule_of);

}  // namespace tuner
