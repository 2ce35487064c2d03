#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "tuner/planners/planners.h"
#include "tuner/study/training_job.h"

namespace tuner {

/// The values of StudyOptions::top other than numbers.
inline constexpr int kTopAll = 0;
inline constexpr int kTopOfEachPlanner = -1;
inline constexpr int kProfileRounds = 3;
/// The values of StudyOptions::profile.
inline constexpr const char* kProfileOne = "one";
inline constexpr const char* kProfileEach = "each";
/// The usual share that others have on a machine that nobody else uses: threads of the kernel, and
/// work of the host.
inline constexpr double kUsualOthers = 0.1;

struct StudyOptions {
  std::string name;
  std::string part_of = {};  ///< the name of the studies that take turns with it; "": alone
  moe::Model model;
  TrainingJob job;
  /// Options of moe-train that nobody typed: the layout that a search chose, and what came with it.
  std::vector<std::string> chosen = {};
  std::vector<PlannerRequest> planners;
  int most_chunks = 4;
  /// The number of candidates that are trained besides sequential, or kTopAll, or kTopOfEachPlanner
  /// for the best of each planner. The trial that was measured fastest joins them.
  int top = 5;
  int repeats = 3;
  /// Schedule files: every candidate is tried with the decisions of each too.
  std::vector<std::string> given;
  std::string routing;            ///< to predict with; empty = those of the profile
  double trial_time_limit_s = 0;  ///< 0 = from the prediction
  /// Iterations, after warm-up, of each training by which a planner that micro-profiles chooses; 0
  /// = it simulates.
  int micro_profile_steps = 4;
  /// The number of times that each schedule is trained to measure costs (profile_runs.h). None: as
  /// the study was begun, or kProfileRounds.
  std::optional<int> profile_rounds;
  /// Of studies of several layouts: kProfileOne, whose costs serve all (studies_in_turns.h), or
  /// kProfileEach. Empty: as the study was begun, or kProfileOne.
  std::string profile;
  /// A share of the processors, 0 to 1: a run during which other processes use more is repeated
  /// (study_trainings.h); with 1 none is. None: as the study was begun, or kUsualOthers.
  std::optional<double> most_of_others;
  /// The most times that costs are fitted again to measured trials and everything is planned again.
  /// None: as the study was begun, or never.
  std::optional<int> refinements;
  bool resume = false;
  bool retry_failed = false;      ///< with `resume`: trials that failed, but for infeasible ones
  double budget_s = 0;            ///< no training begins that would end after so long; 0 = any time
  bool dry_run = false;           ///< nothing is trained, and nothing is written
  std::vector<std::string> argv;  ///< for the record
  /// Prints a message for a person, one line each.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Runs of one schedule that a study would train.
struct PlannedTraining {
  std::string what;  ///< "profile" or "trial"
  std::string planner;
  std::string parameters_json;
  int runs = 0;
  int iterations = 0;                 ///< of each run
  std::optional<double> iteration_s;  ///< measured, or predicted; none where nothing tells
};

/// How a study ended.
struct StudyEnd {
  std::int64_t id = 0;
  std::string
      failure;  ///< why it compares nothing, or could not go on; "" where it did what it could
  bool ended_early = false;             ///< its budget was used, or nothing can be trained any more
  std::vector<PlannedTraining> plan{};  ///< of a dry run
  /// By how much the database grows by it; none where no training of the model is stored.
  std::optional<double> planned_bytes{};
  std::optional<double> planned_s{};  ///< how long that takes; none where nothing tells
};

/// Runs a tuning study in four steps. Each step stores its result in the database before the next:
///   1. profile: moe-train trains a few steps of schedules_to_profile(); calibrate() works out the
///      costs;
///   2. predict: every planner's candidates, for which it may ask for micro-profiles, without and
///      with the given decisions and each schedule once, get the closed form, simulation, lower
///      bound, peak memory and predicted timeline. A candidate over the memory limit is
///      "infeasible";
///   3. measure: sequential and the `top` best by simulation (of all, or of each planner) are
///      trained, in turns (A B C A B C), so that slow changes of the machine affect all alike. Each
///      trial row then holds its time, peak memory and status;
///   4. refine, as often as asked for: costs are fitted to the measured runs too (refinement.h),
///      every trial is predicted again, and every planner plans again. Trials that are then among
///      the best and were not measured are measured. It ends earlier where the best stays the same.
/// Where it is killed, or its budget is used, nothing that was finished is lost: with `resume` it
/// goes on where it was. A trial that ran out of memory, hung, crashed or failed is recorded so and
/// tried again only with `retry_failed`. Where no rank is started, no schedule is to blame: the study
/// ends, and the trial is planned as before.
///
/// Throws moe::InputError where the name exists and `resume` is not set,
/// where another process runs the study, where a resumed study had other inputs, or where the
/// routing or a given file is wrong. Throws moe::Stopped where a signal asked for the end
/// (moe/stop.h); the study can then be resumed. Where the profile fails, throws an error that makes
/// this process end with the same exit code. A profile that its own costs predict badly is reported
/// and recorded with the run. Throws TakenOver (study_owner.h) where another process took the study.
StudyEnd run_study(const StudyOptions& options);

}  // namespace tuner
