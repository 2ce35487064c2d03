#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "moe/passes/schedule.h"
#include "tuner/study/study.h"
#include "tuner/study/training_job.h"

namespace tuner {

/// What all trainings of a study have in common.
struct StudyTrainings {
  const StudyOptions& options;  ///< with its kept settings (study_settings.h)
  std::function<void()> alive = [] {};
  /// Called with each training run before it counts; may throw.
  std::function<void(std::int64_t run)> check_run = [](std::int64_t) {};
  /// Called before each training with the seconds that it is expected to take, where that is known;
  /// may throw EndedEarly.
  std::function<void(std::optional<double> expected_s)> before_training = [](auto) {};
};

/// One of them.
struct StudyTraining {
  std::span<const moe::Schedule> schedules;  ///< in turns
  int steps = 1;
  int timelines = 1;  ///< how many typical iterations of each are kept
  double limit_s = 0;
  std::optional<double> expected_s{};
};

/// A training, and the share of the processors that other processes, and other guests of the host,
/// used meanwhile: of the machine where they used most.
struct WatchedRun {
  std::vector<JobResult> results;  ///< of the schedules that took turns, at least one
  double share_of_others = 0;
  std::string host{};  ///< that machine
};

/// Trains, and trains again
///   - up to kMostLaunches times in all where no rank was started or a node was lost, which says
///     nothing of a schedule;
///   - up to kMostAttempts times in all where others used more than StudyOptions::most_of_others of
///     the processors of a node, as its ranks tell (db::RunRank::share_of_others).
/// Gives the run that others disturbed least; the processor time decides this, never how fast a run
/// was. Where the first run fails, it is the result; later runs that fail, or for which the budget
/// is too short (EndedEarly), do not count. Says why a training is repeated, and checks the run
/// where it is done.
WatchedRun train(const db::Connection& connection, const StudyTrainings& how,
                 const StudyTraining& one);
/// The same of a function that trains once.
WatchedRun train_undisturbed(const db::Connection& connection, const StudyOptions& options,
                             const std::function<std::vector<JobResult>()>& train_once);

/// The status of the first schedule that has not "done", else "done".
const std::string& status_of(const std::vector<JobResult>& results);

/// After so many seconds a training of a trial counts as hanging.
double trial_time_limit_s(const StudyOptions& options, double predicted_s);

inline constexpr int kMostAttempts = 3;
inline constexpr int kMostLaunches = 3;

}  // namespace tuner
