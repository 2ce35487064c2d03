#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "db/connection.h"
#include "tuner/study/micro_profiles.h"
#include "tuner/study/open_study.h"
#include "tuner/study/prediction.h"
#include "tuner/study/study_situation.h"
#include "tuner/study/study_trainings.h"

namespace tuner {

/// The candidates of a study's planners, predicted and stored as its trials.
class StudyPredictions {
 public:
  /// All live as long.
  StudyPredictions(db::Connection& connection, const StudyOptions& options,
                   const StudySituation& planned, const StudyTrainings& trainings, OpenStudy& open)
      : connection_(connection),
        options_(options),
        planned_(planned),
        trainings_(trainings),
        open_(open) {}

  /// Predicts the known trials of a resumed study again where costs have changed: it may have
  /// profiled more (copies, given files), and predictions by different costs cannot be ranked.
  /// Meanwhile the study has no costs, so that a process that resumes it after a kill does this
  /// again.
  void adopt_costs();

  /// Predicts and stores every candidate that is not known yet.
  void predict_all();

 private:
  /// Predicts a candidate and stores it in one transaction: a planned trial, its schedule, its
  /// figures and its predicted timeline. One that needs more memory than the limit is infeasible,
  /// with the reason. Returns the trial's id.
  std::int64_t store_candidate(const Situation& situation, const Planner& planner,
                               const Candidate& candidate);
  /// Predicts a stored trial with other costs. The new figures and timeline replace the old ones;
  /// the status stays. Of `refined` costs, the prediction from before stays as first_predicted_s,
  /// unless there is an earlier one.
  void predict_again(const Situation& situation, db::Trial trial, bool refined);
  void store_timeline(const Prediction& prediction, const db::Trial& trial);
  bool chooses_by_micro_profiles(const PlannerRequest& request) const;
  /// The same situation, in which planners can measure. `micro_profiles` has to live as long.
  Situation measuring(Situation situation, MicroProfiles& micro_profiles);
  /// Those of a planner, without and with the given decisions. Says what is left out, and why. What
  /// ends a micro-profile is thrown as it is, and not as the planner's.
  std::vector<Candidate> candidates(const Situation& situation, const PlannerRequest& request);

  db::Connection& connection_;
  const StudyOptions& options_;
  const StudySituation& planned_;
  const StudyTrainings& trainings_;
  OpenStudy& open_;
  std::exception_ptr ended_measuring_;
};

}  // namespace tuner
