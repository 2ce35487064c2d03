#pragma once

#include <functional>
#include <string>

#include "tuner/study/training_job.h"

namespace tuner {

/// A training, and what share of the processors other processes, and other guests of the host, had meanwhile.
struct WatchedRun {
  JobResult result;
  double share_of_others = 0;
};

/// Trains; where others had more than `most_of_others` of the processors, again, kMostAttempts times in all, and gives the
/// run that they disturbed least: the processors' time chooses, never how fast a run was. A first one that fails is
/// given as it is; a later one that fails is not, the others count. Says what is trained again and why.
WatchedRun train_undisturbed(const std::function<JobResult()>& train, double most_of_others,
                             const std::function<void(const std::string&)>& say);
/// The same of runs that are watched already.
WatchedRun least_disturbed(const std::function<WatchedRun()>& train, double most_of_others,
                           const std::function<void(const std::string&)>& say);

inline constexpr int kMostAttempts = 3;
/// Usual for a machine that nobody else uses: the kernel's own threads, and what a host takes now and then.
inline constexpr double kUsualOthers = 0.1;

}  // namespace tuner
