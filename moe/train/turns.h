#pragma once

#include <cstddef>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/train/planning.h"

/// One training under several schedules that take turns, an iteration each. Schedules that are
/// compared so meet the same machine: where it computes faster or slower for some seconds, it does
/// so for all of them.
namespace moe {

/// Whose turn an iteration of the training is.
struct Turn {
  std::size_t schedule = 0;  ///< its place among those that take turns
  int iteration = 1;         ///< how many iterations this schedule has then had
};

/// The turn of iteration `iteration`, counted from 1, of a training under `schedules` schedules.
Turn turn_of(int iteration, std::size_t schedules);

/// Puts the next of `schedules` in force after every iteration. The first is in force at the begin.
Replan in_turns(std::vector<Schedule> schedules);

}  // namespace moe
