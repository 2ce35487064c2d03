#pragma once

#include <functional>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// A number of chunks, and the time with it.
struct ChosenDegree {
  int chunks = 1;
  double seconds = 0;
};

/// The best of 1 .. most by `seconds_of`. Equal times: the fewest chunks. Throws
/// std::invalid_argument if most < 1, as all functions here.
ChosenDegree best_degree(int most, const std::function<double(int)>& seconds_of);

/// The best degrees by `seconds_of`. It tries 1 .. most chunks in one phase with the other uncut,
/// then in the other phase. The loss stands between the phases, so they do not compete. Equal
/// times: fewer chunks.
Degrees best_degrees(int most, const std::function<double(Degrees)>& seconds_of);

/// A way to make a schedule of degrees.
using ScheduleOfDegrees = std::function<moe::Schedule(Degrees)>;

/// Its schedule with the degrees that are best by simulation.
moe::Schedule with_best_degrees(const Situation& situation, int most, const ScheduleOfDegrees& way);

}  // namespace tuner
