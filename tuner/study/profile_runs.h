#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/study/profile_schedules.h"
#include "tuner/study/profile_warning.h"
#include "tuner/study/training_job.h"

namespace tuner {

/// The trainings that a study's costs come from: every schedule once a round, as what else the machine does may change from
/// one minute to the next, and what one schedule costs beside another is told by runs next to each other.
struct ProfileRuns {
  std::vector<std::int64_t> runs;  ///< round by round, of a round by schedule
  /// By schedule, of those that ran now: the most that other processes took of the processors.
  std::vector<std::optional<double>> share_of_others;
};

/// Trains each of the schedules that the study has not profiled yet; every run stands in the study's row when it is done.
/// Those that others disturb are trained again (undisturbed.h). `alive` is called while they train.
/// Throws as throw_failure (training_job.h).
ProfileRuns run_profiles(db::Connection& connection, db::Study& study, const TrainingJob& job,
                         const std::vector<ProfileSchedule>& schedules, int rounds,
                         double most_of_others, const std::function<void()>& alive,
                         const std::function<void(const std::string&)>& say);

/// Of each schedule, over all rounds. errors: (predicted - measured) / measured, by run and iteration.
std::vector<ProfileQuality> profile_qualities(const std::vector<ProfileSchedule>& schedules,
                                              const ProfileRuns& runs,
                                              const std::vector<std::vector<double>>& errors);

}  // namespace tuner
