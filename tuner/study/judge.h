#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/compare/comparison.h"
#include "tuner/costs/cost_parts.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/profile.h"

/// Predicts the trials of stored studies again with parts of the costs left out, so that a part
/// stays only where it pays.
namespace tuner {

/// How good the predictions of a study's trials are, with some parts of its costs.
struct Judgement {
  std::vector<PredictedTrial> trials;
  double mean_error = 0;   ///< of the errors' sizes
  double worst_error = 0;  ///< with its sign
  /// The mean size of the errors without the factor that is common to all trials, which changes no
  /// order: of predicted_s / (measured_s exp(m)) - 1, where m is the mean logarithm of predicted
  /// over measured.
  double own_error = 0;
  /// Of the pairs of trials that the repeats tell apart; none where there is no such pair.
  std::optional<double> kendall_tau;
  std::optional<double> regret;
};

/// A stored study, with what its trials took.
class JudgedStudy {
 public:
  /// Throws moe::InputError where it has no profile, or fewer than two trials that were measured
  /// and planned before any refinement, and as read_profiled_runs().
  JudgedStudy(const db::Connection& connection, db::Study study);

  const std::string& name() const { return study_.name; }

  /// Predictions by costs of the study's own profile, worked out again.
  Judgement judge(const CostParts& parts) const;

 private:
  db::Study study_;
  ProfiledRuns profiled_;
  std::vector<std::string> schedules_;  ///< [trial]: JSON
  ComparedSchedules comparison_;        ///< of the trials
};

/// The figures of trials that were predicted and measured, at least one.
/// `told_apart`: whether the repeats tell two trials apart, by index.
Judgement judgement_of(std::vector<PredictedTrial> trials,
                       const std::function<bool(std::size_t, std::size_t)>& told_apart);

}  // namespace tuner
