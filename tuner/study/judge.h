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

/// The predictions of a study's trials with some parts of its costs, and how good they are.
struct JudgedTrials {
  std::vector<PredictedTrial> trials;
  db::PredictionQuality quality;
};

/// A stored study, with what its trials took.
class JudgedStudy {
 public:
  /// Throws moe::InputError where it has no profile, or fewer than two trials that were measured
  /// and planned before any refinement, and as read_profiled_runs().
  JudgedStudy(const db::Connection& connection, db::Study study);

  const std::string& name() const { return study_.name; }

  /// Predictions by costs of the study's own profile, worked out again.
  JudgedTrials judge(const CostParts& parts) const;

 private:
  db::Study study_;
  ProfiledRuns profiled_;
  std::vector<std::string> schedules_;  ///< [trial]: JSON
  ComparedSchedules comparison_;        ///< of the trials
};

}  // namespace tuner
