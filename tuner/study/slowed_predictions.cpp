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
#include "tuner/costs/cluster.h"
#include "tuner/costs/observe.h"
#include "tuner/costs/rank_slowdown.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/compute_slowdown.h"
#include "tuner/study/measured_runs.h"
#include "tuner/study/profile.h"

namespace tuner {
namespace {

/// Of the ranks of these runs, at least one, from all spans that are stored of them
/// (rank_slowdown.h). All have the processors of the first.
std::map<int, double> slowdowns_of_runs(const db::Connection& connection,
                                        const std::vector<std::int64_t>& run_ids,
                                        const Situation& profiled,
                                        const std::function<void()>& go_on) {
  const moe::Groups& groups = profiled.groups;
  MeasuredRuns measured;
  for (const std::int64_t id : run_ids) {
    go_on();
    const db::Run run = db::load_run(connection, id);
    if (run.schedule_id) add_run(connection, groups, profiled.program, run, measured);
  }
  const auto shared = shared_processors(db::load_run_ranks(connection, run_ids.front()));
  const bool contended = ranks_contend(shared, groups.ranks);
  return rank_slowdowns(observe(measured.iterations, groups, shared, profiled.costs.device),
                        profiled.costs, contended);
}

/// What a study's trials are compared with, and how.
struct Comparison {
  const db::Connection& connection;
  const Situation& profiled;
  std::map<int, double> profile;  ///< of its runs
};

/// A run that was slowed, and the costs of ranks with its slowdowns.
struct SlowedRun {
  double slowdown = 1;
  CostModel costs;
};

/// Of every rank; one without an op that was alone has that of the first that has one.
Slowdowns by_rank(const std::map<int, double>& known, int ranks) {
  Slowdowns slowdowns(static_cast<std::size_t>(ranks), known.begin()->second);
  for (const auto& [rank, slowdown] : known) slowdowns[rank] = slowdown;
  return slowdowns;
}

std::optional<SlowedRun> slowed_run(const Comparison& with, std::int64_t run_id,
                                    const std::function<void()>& go_on) {
  const std::map<int, double> slowdowns =
      slowdowns_of_runs(with.connection, {run_id}, with.profiled, go_on);
  const auto slowdown = compute_slowdown(slowdowns, with.profile);
  if (!slowdown) return std::nullopt;
  SlowedRun run{*slowdown, with.profiled.costs};
  slow_to(by_rank(slowdowns, with.profiled.groups.ranks), run.costs);
  return run;
}

/// What is stored of a trial.
struct SlowedTrial {
  std::int64_t id = 0;
  double slowdown = 1, predicted_s = 0, lower_bound_s = 0;
};

/// Both are of the simulated iteration of median length, as those of every prediction.
struct SlowedIteration {
  double predicted_s = 0, lower_bound_s = 0;
};

SlowedIteration slowed_iteration(const Situation& profiled, const CostModel& costs,
                                 const moe::Schedule& schedule) {
  Situation situation{profiled.program, profiled.groups, profiled.routing, costs, profiled.cluster};
  situation.routings = profiled.routings;
  const moe::Program program = moe::apply(situation.program, schedule);
  const std::vector<ProgramCosts> iterations = judged_costs(situation, program);
  std::vector<double> seconds;
  for (const ProgramCosts& iteration : iterations) {
    seconds.push_back(simulate(program, iteration, costs, situation.cluster).duration_s);
  }
  const std::size_t median = median_place(seconds);
  return {seconds[median], lower_bound(program, iterations[median], situation.cluster).seconds()};
}

}  // namespace

void store_slowed_predictions(db::Connection& connection, std::int64_t study_id,
                              const Situation& profiled,
                              const std::vector<std::int64_t>& profile_runs,
                              const std::function<void()>& go_on) {
  const Comparison with{connection, profiled,
                        slowdowns_of_runs(connection, profile_runs, profiled, go_on)};
  std::vector<SlowedTrial> slowed_trials;
  for (const db::Trial& trial : db::load_trials(connection, study_id, "done")) {
    const moe::Schedule schedule =
        moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    std::vector<double> slowdowns, seconds, bounds;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      if (!repeat.run_id) continue;
      const auto run = slowed_run(with, *repeat.run_id, go_on);
      if (!run) continue;
      slowdowns.push_back(run->slowdown);
      const SlowedIteration iteration = slowed_iteration(profiled, run->costs, schedule);
      seconds.push_back(iteration.predicted_s);
      bounds.push_back(iteration.lower_bound_s);
    }
    if (slowdowns.empty()) continue;
    slowed_trials.push_back(
        {trial.id, db::median(slowdowns), db::median(seconds), db::median(bounds)});
  }
  db::Transaction transaction(connection, "store how slowly trials computed");
  for (const SlowedTrial& trial : slowed_trials) {
    db::set_slowdown(connection, trial.id, trial.slowdown, trial.predicted_s, trial.lower_bound_s);
  }
  transaction.commit();
}

}  // namespace tuner
