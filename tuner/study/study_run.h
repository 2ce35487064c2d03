#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "tuner/study/budget.h"
#include "tuner/study/open_study.h"
#include "tuner/study/profile.h"
#include "tuner/study/profile_runs.h"
#include "tuner/study/profile_schedules.h"
#include "tuner/study/profiled_layouts.h"
#include "tuner/study/study.h"
#include "tuner/study/study_predictions.h"
#include "tuner/study/study_situation.h"
#include "tuner/study/study_trainings.h"
#include "tuner/study/trial_runs.h"

namespace tuner {

/// A study that this process runs (study.h), as a whole or step by step. What run_study() says of
/// errors holds for each step; whoever takes the steps ends the study with conclude() or abandon().
class StudyRun {
 public:
  explicit StudyRun(const StudyOptions& options);

  StudyEnd run();
  enum class ProfilePart : std::uint8_t { whole, brief, none };
  /// What run() would train. Nothing is trained; what is written is lost with the connection.
  StudyEnd plan(ProfilePart part = ProfilePart::whole);

  /// Profiles and predicts. One that goes on with the profile of several layouts takes that.
  void prepare();

  // The steps of prepare() of studies that share a profile (studies_in_turns.h):
  bool wants_one_profile() const { return options_.profile == kProfileOne; }
  const moe::Program& program() const { return planned_.program; }
  const moe::Groups& groups() const { return planned_.groups; }
  Kinds kinds_to_measure() const {
    return tuner::kinds_to_measure(planned_.program, planned_.expected_routing());
  }
  void take_places(const moe::Groups& measured) { planned_.take_places(measured); }
  /// Trains what is missing of its profile. Briefly: in the first two of its schedules, in which
  /// whole ops and small ones run alone. Returns all its runs.
  std::vector<std::int64_t> train_profile(bool briefly);
  /// The costs of these runs of any layouts, those that it trained itself first. Says how well they
  /// explain them.
  Profile profile_of(const std::vector<std::int64_t>& runs);
  /// Predicts by a profile of these runs, whose routings are of `profiled`. Says what of it is beyond
  /// what was measured.
  void predict_by(const Profile& profile, const moe::Program& profiled,
                  const std::vector<std::int64_t>& runs);

  /// Trains a round of trials under a repeat of this number or a later one (trial_runs.h). False
  /// where none is left.
  bool train_round(int least_repeat);
  /// What train_round() would train until none is left.
  TrialsPlan rounds_left() { return plan_trials(connection_, open_.study, trainings_); }
  /// The largest number of a repeat so far; 0: none.
  int newest_repeat() const;
  /// Fits costs to all that was measured and plans again. False where no refinement is left, or it
  /// would change nothing.
  bool refine();

  StudyEnd conclude(const std::optional<EndedEarly>& early);
  void abandon(const std::string& status, const std::string& error) {
    open_.abandon(status, error);
  }

 private:
  std::size_t missing_profile_runs(const std::vector<ProfileSchedule>& schedules) const;
  /// The newest costs of this machine that the database has: of another study, or of `moe-tune fit`.
  /// False where it has none.
  bool take_costs_of_others();
  /// The runs of the first round are as long as trials (profile_runs.h).
  std::vector<PlannedTraining> planned_profile(std::size_t runs, std::size_t schedules,
                                               std::optional<double> iteration_s) const;
  /// What else a study may train, of which nothing is known before.
  std::string not_in_plan() const;
  /// `predictions`: the bytes of what is predicted. None where no training of the model is stored.
  std::optional<double> planned_bytes(const std::vector<PlannedTraining>& plan,
                                      double predictions) const;
  StudyEnd without_predictions(std::size_t profile_runs, std::size_t schedules);
  std::vector<ProfileSchedule> schedules_of_profile(ProfilePart part) const;
  /// Whether it has runs of several layouts that share a profile.
  bool shares_profile() const;
  /// Takes the costs of that, or of its own profile, of which what is missing is trained.
  void take_profile();
  /// The costs of the profile and of these runs of trials.
  Profile profile_with(const std::vector<std::int64_t>& trials) const;
  bool begin_refinement();

  StudyOptions options_;
  Budget budget_{options_.budget_s};
  StudySituation planned_;
  db::Connection connection_;
  OpenStudy open_;
  const StudyTrainings trainings_{
      options_, [this] { open_.check_owner(); },
      [this](std::int64_t run) { open_.check_place(run); },
      [this](std::optional<double> expected_s) { budget_.expect_training(expected_s); }};
  StudyPredictions predictions_{connection_, options_, planned_, trainings_, open_};
  ProfileRuns profiled_;                    ///< by this process
  std::vector<std::int64_t> profile_runs_;  ///< that costs come from
};

}  // namespace tuner
