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

/// All that can be said of a schedule before it runs.
struct Prediction {
  moe::Program program;           ///< scheduled
  std::optional<double> paper_s;  ///< the closed form of the planner's paper, if it has one
  moe::Timeline timeline;         ///< simulated
  moe::Routing routing;           ///< that the timeline and the bound are of
  LowerBound bound;
  std::int64_t peak_bytes = 0;       ///< of the arena, on the rank that needs most
  std::int64_t host_peak_bytes = 0;  ///< of what is offloaded, the same
  /// Standard deviation that the timeline's duration is expected to have (deviation.h); none where
  /// neither a fit nor a profile says how far it is off.
  std::optional<double> deviation_s;
};

/// Throws std::invalid_argument where the schedule is not legal for the program.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule);

/// The same for iterations that route differently, as those of a training do: the timeline is the
/// one of median duration (of an even number the shorter), the peak is the highest.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule, std::span<const moe::Routing> routings);

}  // namespace tuner
