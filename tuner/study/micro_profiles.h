#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "db/connection.h"
#include "db/records.h"
#include "moe/passes/schedule.h"
#include "tuner/study/study_trainings.h"

namespace tuner {

/// The short trainings by whose times a planner of a study chooses.  [MPMoE 4.1: "profile-based"]
struct MicroProfileOptions {
  std::string study;
  std::int64_t run_id = 0;   ///< run of the study's process; measurements are stored under it
  StudyTrainings trainings;  ///< but for before_training, which has its own below
  int iterations = 4;        ///< counted after warm-up
  std::string dtype;         ///< for the record
  /// The time limit of one training, in seconds.
  std::function<double(const moe::Schedule&)> time_limit_s;
  /// Called before each training, with its iterations; may throw EndedEarly.
  std::function<void(const moe::Schedule&, int steps)> before_training = [](const moe::Schedule&,
                                                                            int) {};
  bool retry_failed = false;  ///< those of earlier processes that failed are trained again
};

/// Trains under schedules for a few iterations, each schedule once, and keeps the results. Each is
/// stored as a measurement "micro_profile" of the study with the median, least and most seconds of
/// an iteration. Its parameters name the study, the schedule (with chunks and strategy), the
/// training run and its status. The planner of that run is "micro-profile".
class MicroProfiles {
 public:
  /// Takes over the study's measurements of at least as many iterations.
  MicroProfiles(db::Connection& connection, MicroProfileOptions options);

  /// The seconds of an iteration; infinite where the training failed. Throws as train
  /// (training_job.h), and std::runtime_error where no rank was started.
  double seconds(const moe::Schedule& schedule);

 private:
  double measure(const moe::Schedule& schedule, std::int64_t schedule_id);

  db::Connection& connection_;
  MicroProfileOptions options_;
  std::map<std::int64_t, double> known_;  ///< by schedule
};

}  // namespace tuner
