#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/routing.h"
#include "tuner/planners/situation/planner.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner {

/// All figures of a schedule that are known before it runs.
struct Prediction {
  moe::Program program;           ///< scheduled
  std::optional<double> paper_s;  ///< the closed form of the planner's paper, if it has one
  moe::Timeline timeline;         ///< simulated
  moe::Routing routing;           ///< the routing of the timeline and the bound
  LowerBound bound;
  std::int64_t peak_bytes = 0;       ///< the arena, on the rank that needs most
  std::int64_t host_peak_bytes = 0;  ///< offloaded rows, on the rank that needs most
  /// The standard deviation of the timeline's duration (deviation.h); empty where neither a fit nor
  /// a profile tells it.
  std::optional<double> deviation_s;
};

/// Throws moe::Refusal where the schedule is not legal for the Program.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule);

/// The same for iterations with different routings, as a training has them. The timeline is the one
/// of median duration (of an even number the shorter), the peak is the highest.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule, std::span<const moe::Routing> routings);

}  // namespace tuner
