#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "db/connection.h"
#include "db/records.h"
#include "moe/passes/schedule.h"
#include "tuner/study/study_trainings.h"

namespace tuner {

/// The short trainings by whose times a planner of a study chooses.  [MPMoE 4.1: "profile-based"]
/// Trains under schedules for StudyOptions::micro_profile_steps, each schedule once, and keeps the
/// results. Those of earlier processes that failed are trained again with `retry_failed`. Each is
/// stored as a measurement "micro_profile" of the study with the median, least and most seconds of
/// an iteration. Its parameters name the study, the schedule (with chunks and strategy), the
/// training run and its status. The planner of that run is "micro-profile".
class MicroProfiles {
 public:
  /// Takes over the study's measurements of at least as many iterations. `run_id`: the run of the
  /// study's process, under which measurements are stored. All references live as long.
  MicroProfiles(db::Connection& connection, const db::Study& study, std::int64_t run_id,
                const StudyTrainings& trainings,
                std::function<double(const moe::Schedule&)> predicted_s);

  /// The seconds of an iteration; infinite where the training failed. Throws as train
  /// (training_job.h), and std::runtime_error where no rank was started.
  double seconds(const moe::Schedule& schedule);

 private:
  double measure(const moe::Schedule& schedule, std::int64_t schedule_id);

  db::Connection& connection_;
  const db::Study& study_;
  std::int64_t run_id_;
  const StudyTrainings& trainings_;
  std::function<double(const moe::Schedule&)> predicted_s_;
  std::map<std::int64_t, double> known_;  ///< by schedule
};

}  // namespace tuner
