#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "tuner/study/training_job.h"

namespace tuner {

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
///   - up to kMostAttempts times in all where others used more than `most_of_others` of the
///     processors of a node, as its ranks tell (db::RunRank::share_of_others).
/// Gives the run that others disturbed least; the processor time decides this, never how fast a run
/// was. Where the first run fails, it is the result; later runs that fail, or for which the budget is
/// too short (EndedEarly), do not count. `say` gets a
/// line about each repetition and its reason.
WatchedRun train_undisturbed(const db::Connection& connection,
                             const std::function<std::vector<JobResult>()>& train,
                             double most_of_others,
                             const std::function<void(const std::string&)>& say);
/// The status of the first schedule that has not "done", else "done".
const std::string& status_of(const std::vector<JobResult>& results);
/// The same for a function that trains and measures the use of the processors.
WatchedRun least_disturbed(const std::function<WatchedRun()>& train, double most_of_others,
                           const std::function<void(const std::string&)>& say);

inline constexpr int kMostAttempts = 3;
inline constexpr int kMostLaunches = 3;
/// The usual share on a machine that nobody else uses: threads of the kernel, and work of the host.
inline constexpr double kUsualOthers = 0.1;

}  // namespace tuner
