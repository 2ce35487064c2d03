#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "db/connection.h"
#include "tuner/study/training_job.h"

namespace tuner {

/// The trials to train, and how to train them.
struct TrialRuns {
  std::int64_t study_id = 0;
  const TrainingJob& job;
  int top = 0;            ///< StudyOptions::top
  int repeats = 1;        ///< trainings of each trial, on average (rounds.h)
  double most_of_others;  ///< the limit of train_undisturbed (undisturbed.h)
  std::function<double(double predicted_s)> time_limit_s;
  std::function<void()> alive;
  std::function<void(const std::string&)> say;
  /// Called with each training run before it counts; may throw.
  std::function<void(std::int64_t run)> check_run;
};

/// How many typical iterations of each repeat are kept with their spans. A refinement, and how
/// slowly a trial computed, come from these: one may have met others on the machine.
inline constexpr int kMostTimelines = 3;

/// Trains the chosen trials of a study (chosen_trials.h) in rounds (rounds.h), and stores every
/// repeat when it is done. The trials of a round take turns in one training, an iteration each, so
/// that a machine which computes faster at times is fair to all. A trial that was trained in all
/// its rounds is done: it has the median of the iterations of all its repeats, and its peak. One
/// that fails is recorded so at once. Returns warnings about repeats that lie far apart, a line
/// each. Throws moe::Stopped as train().
std::string train_trials(db::Connection& connection, const TrialRuns& how);

}  // namespace tuner
