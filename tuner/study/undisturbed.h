#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/study/training_job.h"

namespace tuner {

/// A training, and the share of the processors that other processes, and other guests of the host,
/// used meanwhile.
struct WatchedRun {
  std::vector<JobResult> results;  ///< of the schedules that took turns, at least one
  double share_of_others = 0;
};

/// Trains, and repeats the training where others used more than `most_of_others` of the processors,
/// up to kMostAttempts times in all. Gives the run that others disturbed least; the processor time
/// decides this, never how fast a run was. Where the first run fails, it is the result; later runs
/// that fail do not count. `say` gets a line about each repetition and its reason.
WatchedRun train_undisturbed(const std::function<std::vector<JobResult>()>& train,
                             double most_of_others,
                             const std::function<void(const std::string&)>& say);
/// The status of the first schedule that has not "done", else "done".
const std::string& status_of(const std::vector<JobResult>& results);
/// The same for a function that trains and measures the use of the processors.
WatchedRun least_disturbed(const std::function<WatchedRun()>& train, double most_of_others,
                           const std::function<void(const std::string&)>& say);

inline constexpr int kMostAttempts = 3;
/// The usual share on a machine that nobody else uses: threads of the kernel, and work of the host.
inline constexpr double kUsualOthers = 0.1;

}  // namespace tuner
