#include "viewer/model/load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "db/load.h"
#include "db/statement.h"

namespace viewer {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<RunRow> load_run_rows(const db::Connection& connection) {
  db::Statement statement(
      connection,
      "SELECT run, kind, name, coalesce(planner, ''), device, status, error, ranks, started_at, "
      "duration_s, last_loss FROM run_view ORDER BY started_at DESC, run DESC");
  std::vector<RunRow> rows;
  while (statement.step()) {
    RunRow row;
    row.id = statement.value<std::int64_t>(0);
    row.kind = statement.value<std::string>(1);
    row.name = statement.value<std::string>(2);
    row.planner = statement.value<std::string>(3);
    row.device = statement.value<std::string>(4);
    row.status = statement.value<std::string>(5);
    row.error = statement.value<std::string>(6);
    row.ranks = statement.value<int>(7);
    row.started_at = statement.value<double>(8);
    row.duration_s = statement.value<double>(9);
    row.loss = statement.value<std::optional<double>>(10);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::map<std::int64_t, std::vector<std::int64_t>> load_repeat_runs(
    const db::Connection& connection) {
  db::Statement statement(connection,
                          "SELECT trial_id, run_id FROM trial_repeat WHERE run_id IS NOT NULL");
  std::map<std::int64_t, std::vector<std::int64_t>> runs;
  while (statement.step()) {
    runs[statement.value<std::int64_t>(0)].push_back(statement.value<std::int64_t>(1));
  }
  return runs;
}

std::vector<TrialRow> load_trial_rows(const db::Connection& connection) {
  const auto runs = load_repeat_runs(connection);
  std::vector<TrialRow> rows;
  for (const db::Study& study : db::load_studies(connection)) {
    const auto begin = static_cast<std::ptrdiff_t>(rows.size());
    std::optional<double> sequential_s;
    for (db::Trial& trial : db::load_trials(connection, study.id)) {
      const bool sequential = trial.planner == "sequential" && trial.measured_s;
      if (sequential && (!sequential_s || *trial.measured_s < *sequential_s))
        sequential_s = trial.measured_s;
      const auto of = runs.find(trial.id);
      rows.push_back({std::move(trial), study.name, std::nullopt,
                      of == runs.end() ? std::vector<std::int64_t>{} : of->second});
    }
    for (auto row = rows.begin() + begin; row != rows.end(); ++row) {
      const std::optional<double> measured_s = row->trial.measured_s;
      if (sequential_s && measured_s && *measured_s > 0) row->speedup = *sequential_s / *measured_s;
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
  Catalog catalog{load_run_rows(connection), load_trial_rows(connection),
                  db::load_timelines(connection)};
  std::map<std::int64_t, int> timelines;
  for (const db::Timeline& timeline : catalog.timelines) {
    if (timeline.run_id) ++timelines[*timeline.run_id];
  }
  for (RunRow& run : catalog.runs) run.timelines = timelines[run.id];
  return catalog;
}

RunData load_run(const db::Connection& connection, std::int64_t run_id) {
  db::LoadFilter filter;
  filter.run_id = run_id;
  return {run_id, db::load_iterations(connection, run_id),
          build_load_table(db::load_expert_loads(connection, filter))};
}

Timeline load_timeline(const db::Connection& connection, const db::Timeline& info) {
  return build_timeline(info, db::load_timeline_ops(connection, info.id),
                        db::load_spans(connection, info.id));
}

}  // namespace viewer
