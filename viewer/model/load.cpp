#include "viewer/model/load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "db/load.h"
#include "db/run_chain.h"
#include "db/store.h"
#include "viewer/model/catalog.h"
#include "viewer/model/trial_figures.h"

namespace viewer {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> runs_of(const db::Connection& connection, std::int64_t trial_id) {
  std::vector<std::int64_t> runs;
  for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial_id)) {
    if (repeat.run_id) runs.push_back(*repeat.run_id);
  }
  return runs;
}

std::vector<TrialRow> load_trial_rows(const db::Connection& connection) {
  const std::map<std::int64_t, db::TrialFigures> figures = db::load_trial_figures(connection);
  std::vector<TrialRow> rows;
  for (const db::Study& study : db::load_studies(connection)) {
    const auto begin = static_cast<std::ptrdiff_t>(rows.size());
    for (db::Trial& trial : db::load_trials(connection, study.id)) {
      const auto found = figures.find(trial.id);  // none of one that is newer
      std::vector<std::int64_t> runs = runs_of(connection, trial.id);
      rows.push_back({std::move(trial), study.name, study.layout,
                      found == figures.end() ? db::TrialFigures() : found->second,
                      std::move(runs)});
    }
    std::stable_sort(rows.begin() + begin, rows.end(), [](const TrialRow& a, const TrialRow& b) {
      const auto key = [](const db::Trial& t) {
        return std::pair(t.measured_s.value_or(kNever), t.predicted_s.value_or(kNever));
      };
      return key(a.trial) < key(b.trial);
    });
  }
  return rows;
}

}  // namespace

Catalog load_catalog(const db::Connection& connection) {
  Catalog catalog{{}, load_trial_rows(connection), db::load_timelines(connection)};
  std::map<std::int64_t, int> timelines;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    if (timeline.run_id) ++timelines[*timeline.run_id];
  }
  for (db::RunOverview& run : db::load_run_overviews(connection)) {
    const int count = timelines[run.id];
    // A running one has run until its last sign of life.
    const double silent_s =
        run.status == db::kRunning ? std::max(0.0, db::now() - run.started_at - run.duration_s) : 0;
    catalog.runs.push_back({std::move(run), count, silent_s});
  }
  sort_timelines(catalog);
  return catalog;
}

RunData load_run(const db::Connection& connection, std::int64_t run_id) {
  db::LoadFilter filter;
  filter.run_id = run_id;
  const std::vector<db::Load> loads = db::load_expert_loads(connection, filter);
  return {run_id,
          db::load_iterations(connection, run_id),
          build_load_table(loads),
          build_balance_table(db::load_balances(connection, run_id)),
          build_load_table(loads, LoadBasis::asked),
          {},
          db::load_iterations_before(connection, run_id),
          {db::load_rank_loads(connection, run_id), db::load_expert_places(connection, run_id)}};
}

}  // namespace viewer
