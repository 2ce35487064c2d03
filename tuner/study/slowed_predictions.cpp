#include "tuner/study/slowed_predictions.h"

#include <optional>
#include <vector>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/records.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/passes/schedule.h"
#include "tuner/machine/slowdown.h"
#include "tuner/planners/planners.h"
#include "tuner/study/measured_runs.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// Of the ranks of a run, from all spans that are stored of it.
std::optional<Slowdowns> slowdowns_in_run(const db::Connection& connection, std::int64_t run_id,
                                          const Situation& profiled) {
  const db::Run run = db::load_run(connection, run_id);
  MeasuredRuns measured;
  if (!run.schedule_id || !add_run(connection, profiled.groups, profiled.program, run, measured)) {
    return std::nullopt;
  }
  const auto& shared = profiled.cluster.shared_processors;
  return slowdowns_in(observe(measured.iterations, profiled.groups, shared, profiled.costs.device),
                      profiled.costs, profiled.groups.ranks, shared);
}

/// What is stored of a trial, a repeat each.
struct SlowedTrial {
  std::int64_t id = 0;
  std::vector<double> slowdowns, predicted_s, lower_bounds_s;

  void add(const Situation& profiled, const moe::Schedule& schedule, const Slowdowns& moment) {
    CostModel costs = profiled.costs;
    slow_to(moment, costs);
    Situation slowed{profiled.program, profiled.groups, profiled.routing, costs, profiled.cluster};
    slowed.routings = profiled.routings;
    const Prediction prediction = predict_times(slowed, schedule);
    slowdowns.push_back(compute_slowdown(moment, profiled.costs));
    predicted_s.push_back(prediction.timeline.duration_s);
    lower_bounds_s.push_back(prediction.bound.seconds());
  }
};

}  // namespace

void store_slowed_predictions(db::Connection& connection, std::int64_t study_id,
                              const Situation& profiled, const std::function<void()>& go_on) {
  std::vector<SlowedTrial> slowed_trials;
  for (const db::Trial& trial : db::load_trials(connection, study_id, "done")) {
    const moe::Schedule schedule =
        moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    SlowedTrial slowed{trial.id, {}, {}, {}};
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      if (!repeat.run_id) continue;
      go_on();
      const auto moment = slowdowns_in_run(connection, *repeat.run_id, profiled);
      if (moment) slowed.add(profiled, schedule, *moment);
    }
    if (!slowed.slowdowns.empty()) slowed_trials.push_back(std::move(slowed));
  }
  db::Transaction transaction(connection, "store how slowly trials computed");
  for (const SlowedTrial& trial : slowed_trials) {
    db::set_slowdown(connection, trial.id, db::median(trial.slowdowns),
                     db::median(trial.predicted_s), db::median(trial.lower_bounds_s));
  }
  transaction.commit();
}

}  // namespace tuner
