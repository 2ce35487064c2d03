#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/program/timeline_rows.h"
#include "moe/rows/routing.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/situation/planner.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner {

/// All figures of a schedule that are known before it runs.
struct Prediction {
  moe::Program program;           ///< scheduled
  std::optional<double> paper_s;  ///< the closed form of the planner's paper, if it has one
  moe::Timeline timeline;         ///< the simulated iteration of median duration
  moe::Routing routing;           ///< the routing of the timeline and the bound
  ProgramCosts costs;             ///< of the iteration of the timeline
  LowerBound bound;
  /// The size of the arena, on the rank and under the routing that need most.
  std::int64_t peak_bytes = 0;
  std::int64_t host_peak_bytes = 0;  ///< the same for offloaded rows
  /// The standard deviation of the timeline's duration; empty where no profile tells it.
  std::optional<double> deviation_s;
};

/// Predicts each of judged_iterations(situation), as a training has them. Throws moe::Refusal where
/// the schedule is not legal for the Program.
Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule);

/// Its timeline as rows of the database, with what is in memory. Of no run and no trial yet.
moe::TimelineRows predicted_rows(const Prediction& prediction, const moe::Groups& groups,
                                 const std::string& label);

}  // namespace tuner
