#include "tuner/study/predicted_trials.h"

#include <fmt/format.h>

#include "db/console/format_rows.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/memory/memory_rows.h"
#include "moe/program/timeline_rows.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// Given schedules without a planner are predicted like those of sequential.
const Planner& planner_of(const db::Trial& trial) {
  return planner_named(trial.planner == kGivenAlone ? db::kSequential : trial.planner);
}

void set_figures(const Prediction& prediction, db::Trial& trial) {
  trial.paper_s = prediction.paper_s;
  trial.predicted_s = prediction.timeline.duration_s;
  trial.lower_bound_s = prediction.bound.seconds();
  trial.bounded_by = prediction.bound.where;
  trial.predicted_peak_bytes = prediction.peak_bytes;
  trial.predicted_deviation_s = prediction.deviation_s;
}

void store_timeline(db::Connection& connection, const PredictedBy& by, const Prediction& prediction,
                    const db::Trial& trial) {
  moe::TimelineRows rows = moe::timeline_rows(prediction.program, prediction.timeline,
                                              prediction.routing, by.situation.groups);
  rows.memory = moe::memory_rows(prediction.program, prediction.timeline, prediction.routing,
                                 by.situation.groups);
  rows.timeline.trial_id = trial.id;
  rows.timeline.run_id = by.run_id;
  rows.timeline.kind = db::kPredicted;
  rows.timeline.label = fmt::format("{} {}", trial.planner, trial.parameters_json);
  moe::insert(connection, rows);
}

}  // namespace

std::int64_t store_candidate(db::Connection& connection, const PredictedBy& by,
                             const Planner& planner, const Candidate& candidate,
                             std::int64_t memory_limit_bytes) {
  const Prediction prediction = predict(by.situation, planner, candidate.schedule);
  db::Trial trial;
  trial.study_id = by.study_id;
  trial.planner = candidate.planner;
  trial.parameters_json = candidate.parameters_json;
  trial.status = "planned";
  set_figures(prediction, trial);

  db::Transaction transaction(connection, "store a prediction");
  trial.schedule_id = db::find_or_insert(connection, moe::schedule_row(candidate.schedule));
  trial.id = db::find_or_insert(connection, trial);
  if (memory_limit_bytes > 0 && prediction.peak_bytes > memory_limit_bytes) {
    trial.status = "infeasible";
    trial.error = fmt::format("{} predicted, the limit is {}",
                              db::format_cell("bytes", prediction.peak_bytes),
                              db::format_cell("bytes", memory_limit_bytes));
    db::finish_trial(connection, trial);
  }
  store_timeline(connection, by, prediction, trial);
  transaction.commit();
  return trial.id;
}

void predict_again(db::Connection& connection, const PredictedBy& by, db::Trial trial,
                   const moe::Schedule& schedule, NewCosts costs) {
  const Prediction prediction = predict(by.situation, planner_of(trial), schedule);
  if (costs == NewCosts::refined && !db::is_planned_by_refinement(trial) &&
      !trial.first_predicted_s) {
    trial.first_predicted_s = trial.predicted_s;
  }
  set_figures(prediction, trial);
  db::Transaction transaction(connection, "store a prediction");
  db::replace_prediction(connection, trial);
  store_timeline(connection, by, prediction, trial);
  transaction.commit();
}

}  // namespace tuner
