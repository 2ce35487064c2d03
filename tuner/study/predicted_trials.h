#pragma once

#include <cstdint>
#include <span>

#include "db/connection.h"
#include "db/records.h"
#include "moe/rows/routing.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// What a study's trials are predicted by, and whose they are.
struct PredictedBy {
  const Situation& situation;
  std::span<const moe::Routing> routings;  ///< as predict() takes them
  std::int64_t study_id;
  std::int64_t run_id;  ///< that the predicted timelines belong to
};

/// Predicts a candidate and stores it, all at once: a planned trial, its schedule, its figures and
/// its predicted timeline. One that needs more than `memory_limit_bytes` (0 = no limit) is
/// infeasible, with the reason. Returns the trial's id. Throws as predict().
std::int64_t store_candidate(db::Connection& connection, const PredictedBy& by,
                             const Planner& planner, const Candidate& candidate,
                             std::int64_t memory_limit_bytes);

/// Predicts a stored trial of these decisions by other costs than those it was predicted by;
/// figures and timeline replace what was there, its status stays. Throws as predict().
void predict_again(db::Connection& connection, const PredictedBy& by, db::Trial trial,
                   const moe::Schedule& schedule);

}  // namespace tuner
