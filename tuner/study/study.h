#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "tuner/planners/planners.h"
#include "tuner/study/training_job.h"
#include "tuner/study/undisturbed.h"

namespace tuner {

/// Values of StudyOptions::top beside numbers.
inline constexpr int kTopAll = 0;
inline constexpr int kTopOfEachPlanner = -1;
inline constexpr int kProfileRounds = 3;

struct StudyOptions {
  std::string name;
  moe::Model model;
  TrainingJob job;
  std::vector<PlannerRequest> planners;
  int most_chunks = 4;
  int top =
      5;  ///< candidates that are run for real, beside sequential; or all, or of each planner its best
  int repeats = 3;
  /// Candidates predicted to need more are infeasible; 0 = none.
  std::int64_t memory_limit_bytes = 0;
  /// Schedule files: every candidate is tried with the decisions of each too.
  std::vector<std::string> given;
  std::string routing;            ///< predicted with; empty = what the profile recorded
  double trial_time_limit_s = 0;  ///< 0 = from the prediction
  /// Iterations, behind warm-up, of each run that a planner which profiles chooses by; 0 = it simulates.
  int micro_profile_steps = 4;
  /// How often each schedule is run to learn costs (profile_runs.h); none: as the study was begun, kProfileRounds.
  std::optional<int> profile_rounds;
  /// Of the processors, 0 to 1: a run during which other processes have more is made again (undisturbed.h); 1 = none is.
  /// None: as the study was begun, kUsualOthers.
  std::optional<double> most_of_others;
  bool resume = false;
  std::vector<std::string> argv;  ///< for the record
  /// Words for a person, one line each.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// A tuning study, in four steps, each of which leaves its result in the database before the next:
///   1. profile: moe-train runs a few steps of profile_schedules() and of what is given, and of copy_profile_schedules()
///      where a planner offloads; calibrate() makes costs of them;
///   2. predict: every planner's candidates, without and with what is given, no schedule twice (a planner that chooses by
///      micro-profiles has them run here):
///      closed form, simulation, lower bound, peak memory, and the predicted timeline; over the
///      memory limit is "infeasible";
///   3. measure: the `top` best by simulation (of all, or of each planner), and sequential always, run for real, one repeat of
///      each after the other (A B C A B C), so that a machine that drifts is fair to all;
///   4. each trial row then holds the median, the peak and how it ended.
/// Killed at any moment, nothing finished is lost: with `resume` it goes on where it was. What ran
/// out of memory, hung, crashed or failed is recorded as that and never tried again.
///
/// Returns the study's id. Throws moe::InputError where the name exists and `resume` is not set,
/// where another process runs the study, where a resumed study had other inputs, or where the
/// routing or a given file is wrong; moe::Stopped, with all in order for a resumption, where a signal asked for the
/// end (moe/stop.h); where the profile fails, what makes this process end with the same exit code.
/// A profile that its own costs predict badly is said, and stands in the run's record.
std::int64_t run_study(const StudyOptions& options);

}  // namespace tuner
