#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/study/profile_schedules.h"
#include "tuner/study/study_trainings.h"

namespace tuner {

/// The iterations of a run, warm-up included. In the first round runs are as long as those of trials,
/// where these are longer.
inline constexpr int kProfileSteps = 6;

/// The trainings from which a study's costs are worked out. Every schedule is trained once a round,
/// because other work on the machine changes from one minute to the next, and schedules are
/// compared best by runs next to each other.
struct ProfileRuns {
  std::vector<ProfileSchedule> schedules;  ///< the schedules that were trained
  std::vector<std::int64_t> runs;          ///< the runs by round, then by schedule
  /// The largest share of the processors that other processes took; none where all was profiled
  /// before.
  std::optional<double> most_of_others{};
};

/// The profile runs of a study that were trained in its own layout: not those of other layouts whose
/// profile it shares.
std::vector<std::int64_t> own_profile_runs(const db::Connection& connection,
                                           const db::Study& study);

/// Trains each schedule that the study has not profiled yet in its layout, those of a round in turns, and writes
/// the runs of a round into the study's row when it is done. Runs that other processes disturb are
/// repeated (study_trainings.h). A schedule that runs out of memory in the first round gives way to the
/// next of ProfileSchedule::instead. It is left out where there is none and others are left. Throws
/// as throw_failure (training_job.h).
ProfileRuns run_profiles(db::Connection& connection, db::Study& study,
                         std::vector<ProfileSchedule> schedules, const StudyTrainings& how);

}  // namespace tuner
