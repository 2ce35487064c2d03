#include "tuner/study/slowed_predictions.h"

#include <map>
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

/// A repeat of the trials that took turns in it.
struct SlowedRepeat {
  double slowdown = 1;  ///< of all computation
  CostModel costs;
};

bool has_spans(const db::Connection& connection, std::int64_t run_id) {
  db::TimelineFilter filter;
  filter.run_id = run_id;
  filter.kind = db::kMeasured;
  return !db::load_timelines(connection, filter).empty();
}

std::optional<SlowedRepeat> slowed_repeat(const db::Connection& connection,
                                          const std::vector<std::int64_t>& runs,
                                          const moe::Model& model, const Situation& profiled) {
  Observations seen;
  bool ranks_share = false;
  for (const std::int64_t id : runs) {
    const db::Run run = db::load_run(connection, id);
    if (!run.schedule_id || !has_spans(connection, id)) continue;
    MeasuredRuns measured;
    add_run(connection, model, profiled.groups, profiled.program, run, measured);
    const auto shared = shared_processors(db::load_run_ranks(connection, id));
    ranks_share = ranks_share || !shared.empty();
    for (const MeasuredIteration& iteration : measured.iterations) {
      observe(iteration, profiled.groups, shared, profiled.costs.device, seen);
    }
  }
  const auto slowdown = compute_slowdown(seen, profiled.costs, ranks_share);
  if (!slowdown) return std::nullopt;
  return SlowedRepeat{slowdown->all, slowed(profiled.costs, *slowdown, seen)};
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
  std::vector<db::Trial> trials;
  std::map<std::int64_t, std::vector<int>> repeats_of;  // trial -> numbers
  std::map<int, std::vector<std::int64_t>> runs_of;     // repeat -> runs
  for (db::Trial& trial : db::load_trials(connection, study_id)) {
    if (trial.status != "done") continue;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      if (!repeat.run_id) continue;
      repeats_of[trial.id].push_back(repeat.repeat);
      runs_of[repeat.repeat].push_back(*repeat.run_id);
    }
    trials.push_back(std::move(trial));
  }
  std::map<int, SlowedRepeat> repeats;
  for (const auto& [number, runs] : runs_of) {
    auto repeat = slowed_repeat(connection, runs, model, profiled);
    if (repeat) repeats.emplace(number, std::move(*repeat));
  }
  db::Transaction transaction(connection, "store how slowly trials computed");
  for (const db::Trial& trial : trials) {
    const moe::Schedule schedule =
        moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    std::vector<double> slowdowns, seconds;
    for (const int number : repeats_of[trial.id]) {
      const auto repeat = repeats.find(number);
      if (repeat == repeats.end()) continue;
      slowdowns.push_back(repeat->second.slowdown);
      seconds.push_back(predicted_s(profiled, repeat->second.costs, schedule));
    }
    if (slowdowns.empty()) continue;
    db::set_slowdown(connection, trial.id, db::median(slowdowns), db::median(seconds));
  }
  transaction.commit();
}

}  // namespace tuner
