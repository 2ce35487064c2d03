#pragma once

#include <cstdint>

#include "moe/program.h"
#include "moe/timeline.h"
#include "tuner/lower_bound.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// All that can be said of a schedule before it runs.
struct Prediction {
  moe::Program program;    ///< scheduled
  double paper_s = 0;      ///< the closed form of the planner's paper
  moe::Timeline timeline;  ///< simulated
  LowerBound bound;
  std::int64_t peak_bytes = 0;  ///< of the arena, on the rank that needs most
};

/// Throws std::invalid_argument where the schedule is not legal for the program.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule);

}  // namespace tuner
