#pragma once

#include <functional>
#include <vector>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The best degrees by `seconds_of`. It tries 1 .. most chunks in one phase with the other uncut,
/// then in the other phase. The loss stands between the phases, so they do not compete. Equal
/// times: fewer chunks.
Degrees best_degrees(int most, const std::function<double(Degrees)>& seconds_of);

/// The same, by simulation of the schedule for each.
Degrees best_degrees_by_simulation(const Situation& situation, int most,
                                   const std::function<moe::Schedule(Degrees)>& schedule_of);

/// The fastest by simulation of several ways to make a schedule of degrees, each with the degrees
/// that are best for it. Equal times: the first way.
moe::Schedule fastest_by_simulation(const Situation& situation, int most,
                                    const std::vector<std::function<moe::Schedule(Degrees)>>& ways);

}  // namespace tuner
