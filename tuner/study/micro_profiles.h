#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "db/connection.h"
#include "moe/passes/schedule.h"
#include "tuner/study/training_job.h"

namespace tuner {

/// Short real trainings that a planner of a study chooses by.  [MPMoE 4.1: "profile-based"]
struct MicroProfileOptions {
  std::string study;
  std::int64_t run_id = 0;  ///< of the study's process: what is measured is stored as its
  TrainingJob job;
  int iterations = 4;         ///< behind warm-up
  double most_of_others = 1;  ///< as train_undisturbed (undisturbed.h)
  std::string dtype;          ///< for the record
  /// Seconds that one may take.
  std::function<double(const moe::Schedule&)> time_limit_s;
  std::function<void()> alive;
  std::function<void(const std::string&)> say;
};

/// Runs schedules for a few iterations, each once, and remembers: a measurement "micro_profile" of the study with the
/// median, least and most seconds of an iteration, whose parameters name study, schedule (chunks and strategy too), training
/// run and what became of it. That run's planner is "micro-profile".
class MicroProfiles {
 public:
  /// Goes on from what the study has measured in at least as many iterations.
  MicroProfiles(db::Connection& connection, MicroProfileOptions options);

  /// Seconds of an iteration; infinite where the training failed. Throws as train (training_job.h).
  double seconds(const moe::Schedule& schedule);

 private:
  double measure(const moe::Schedule& schedule, std::int64_t schedule_id);

  db::Connection& connection_;
  MicroProfileOptions options_;
  std::map<std::int64_t, double> known_;  ///< by schedule
};

}  // namespace tuner
