#include "tuner/study/slowed_predictions.h"

#include <optional>
#include <vector>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/records.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/passes/schedule.h"
#include "tuner/costs/observe.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/study/compute_slowdown.h"
#include "tuner/study/measured_runs.h"
#include "tuner/study/profile.h"

namespace tuner {
namespace {

bool has_spans(const db::Connection& connection, std::int64_t run_id) {
  db::TimelineFilter filter;
  filter.run_id = run_id;
  filter.kind = db::kMeasured;
  return !db::load_timelines(connection, filter).empty();
}

/// A run that was slowed, and the costs with that.
struct SlowedRun {
  double slowdown = 1;  ///< of all computation
  CostModel costs;
};

std::optional<SlowedRun> slowed_run(const db::Connection& connection, std::int64_t run_id,
                                    const moe::Model& model, const Situation& profiled) {
  const db::Run run = db::load_run(connection, run_id);
  if (!run.schedule_id || !has_spans(connection, run_id)) return std::nullopt;
  MeasuredRuns measured;
  add_run(connection, model, profiled.groups, profiled.program, run, measured);
  const auto shared = shared_processors(db::load_run_ranks(connection, run_id));
  Observations seen;
  for (const MeasuredIteration& iteration : measured.iterations) {
    observe(iteration, profiled.groups, shared, profiled.costs.device, seen);
  }
  const auto slowdown = compute_slowdown(seen, profiled.costs, !shared.empty());
  if (!slowdown) return std::nullopt;
  return SlowedRun{slowdown->all, slowed(profiled.costs, *slowdown, seen)};
}

double predicted_s(const Situation& profiled, const CostModel& costs,
                   const moe::Schedule& schedule) {
  Situation situation{profiled.program, profiled.groups, profiled.routing, costs, profiled.cluster};
  situation.routings = profiled.routings;
  return simulated_s(situation, schedule);
}

}  // namespace

void store_slowed_predictions(db::Connection& connection, std::int64_t study_id,
                              const moe::Model& model, const Situation& profiled) {
  db::Transaction transaction(connection, "store how slowly trials computed");
  for (const db::Trial& trial : db::load_trials(connection, study_id, "done")) {
    const moe::Schedule schedule =
        moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    std::vector<double> slowdowns, seconds;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      if (!repeat.run_id) continue;
      const auto run = slowed_run(connection, *repeat.run_id, model, profiled);
      if (!run) continue;
      slowdowns.push_back(run->slowdown);
      seconds.push_back(predicted_s(profiled, run->costs, schedule));
    }
    if (slowdowns.empty()) continue;
    db::set_slowdown(connection, trial.id, db::median(slowdowns), db::median(seconds));
  }
  transaction.commit();
}

}  // namespace tuner
