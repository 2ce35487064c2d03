#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "db/connection.h"
#include "moe/passes/schedule.h"
#include "tuner/study/undisturbed.h"

namespace tuner {

/// What all trainings of a study have in common.
struct StudyTrainings {
  TrainingJob job;
  double most_of_others = 1;  ///< the limit of train_undisturbed (undisturbed.h)
  std::function<void()> alive = [] {};
  std::function<void(const std::string&)> say = [](const std::string&) {};
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
/// Trains as train_undisturbed() does, and checks the run where it is done.
WatchedRun train(const db::Connection& connection, const StudyTrainings& how,
                 const StudyTraining& one);

}  // namespace tuner
