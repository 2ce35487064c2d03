#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/search/candidate.h"
#include "tuner/search/setup.h"
#include "tuner/search/setup_memory.h"

namespace tuner {

/// A setup with the fastest schedule that was found for it.
struct FoundSetup {
  TrainingSetup setup;
  moe::Schedule schedule;
  std::string order;       ///< the planner of micro-batches' order that it was found with
  double predicted_s = 0;  ///< of an iteration with the schedule
  /// False where computation alone takes longer than the best setup, or the Program is so large that
  /// planners would take minutes.
  bool was_planned = false;
  double lower_bound_s = 0;
  std::string bounded_by;  ///< LowerBound::where
  PeakParts peak;
  std::int64_t tokens = 0;  ///< of an iteration
  /// Fewer than the setup's where the Program of all would be too large (fewer_micro_batches.h):
  /// times are drawn on, and the peak is that of what is under way, or drawn on too.
  int simulated_micro_batches = 0;
};

/// The candidates, whose times are known and of which the first is the fastest, each with the
/// fastest schedule of its order and of the planners; the fastest first. Of Programs of over 2,000
/// ops, joint goes on from the order of micro-batches (plan_joint_from). `remarks`: those of the
/// first candidate's scenario. Says on stderr how far it is.
struct PlannedSetups {
  std::vector<FoundSetup> found;
  std::vector<std::string> remarks;
};
PlannedSetups plan_found(SearchedSetups& searched, const std::vector<PlannerRequest>& planners,
                         const std::vector<const SearchCandidate*>& taken);

}  // namespace tuner
