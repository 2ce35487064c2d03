#pragma once

#include <cstdint>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The situation in which a study's trials are predicted, and the study they belong to.
struct PredictedBy {
  const Situation& situation;
  std::int64_t study_id;
  std::int64_t run_id;  ///< the run that predicted timelines belong to
};

/// Predicts a candidate and stores it in one transaction: a planned trial, its schedule, its
/// figures and its predicted timeline. A candidate that needs more than `memory_limit_bytes` (0 =
/// no limit) is infeasible, with the reason. Returns the trial's id. Throws as predict().
std::int64_t store_candidate(db::Connection& connection, const PredictedBy& by,
                             const Planner& planner, const Candidate& candidate,
                             std::int64_t memory_limit_bytes);

/// Predicts a stored trial with other costs. The new figures and timeline replace the old ones; the
/// status stays. With refined costs the prediction from before stays as first_predicted_s, unless
/// there is an earlier one. Throws as predict().
enum class NewCosts : std::uint8_t { profiled, refined };
void predict_again(db::Connection& connection, const PredictedBy& by, db::Trial trial,
                   const moe::Schedule& schedule, NewCosts costs);

}  // namespace tuner
