#include "db/load_views.h"

#include <utility>

#include "db/statement.h"

namespace db {

std::vector<RunOverview> load_run_overviews(const Connection& connection) {
  Statement statement(
      connection,
      "SELECT run, kind, name, status, error, device, ranks, coalesce(planner, ''), started_at, "
      "duration_s, last_loss, schedule_id, coalesce(layout, ''), coalesce(network, '') "
      "FROM run_view ORDER BY started_at DESC, run DESC");
  std::vector<RunOverview> rows;
  while (statement.step()) {
    RunOverview row;
    row.id = statement.value<std::int64_t>(0);
    row.kind = statement.value<std::string>(1);
    row.name = statement.value<std::string>(2);
    row.status = statement.value<std::string>(3);
    row.error = statement.value<std::string>(4);
    row.device = statement.value<std::string>(5);
    row.ranks = statement.number<int>(6, "run", "ranks");
    row.planner = statement.value<std::string>(7);
    row.started_at = statement.number<double>(8, "run", "started_at");
    row.duration_s = statement.value<double>(9);
    row.last_loss = statement.value<std::optional<double>>(10);
    row.schedule_id = statement.value<std::optional<std::int64_t>>(11);
    row.layout = statement.value<std::string>(12);
    row.network = statement.value<std::string>(13);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<BalanceOverview> load_balances(const Connection& connection, std::int64_t run_id) {
  Statement statement(
      connection,
      "SELECT iteration, layer, experts, unused_experts, tokens, max_tokens, dropped_tokens, "
      "max_over_mean, standard_deviation, rank_max_over_mean, locality, "
      "asked_max_over_mean, placed_rank_max_over_mean FROM balance_view "
      "WHERE run = ? ORDER BY iteration, layer");
  statement.bind(run_id);
  std::vector<BalanceOverview> rows;
  while (statement.step()) {
    BalanceOverview& row = rows.emplace_back();
    row.iteration = statement.number<int>(0, "balance", "iteration");
    row.layer = statement.number<int>(1, "balance", "layer");
    row.experts = statement.number<int>(2, "balance", "experts");
    row.unused_experts = statement.number<int>(3, "balance", "unused_experts");
    row.tokens = statement.value<std::int64_t>(4);
    row.max_tokens = statement.value<std::int64_t>(5);
    row.dropped_tokens = statement.value<std::optional<std::int64_t>>(6);
    row.max_over_mean = statement.value<std::optional<double>>(7);
    row.standard_deviation = statement.value<double>(8);
    row.rank_max_over_mean = statement.value<std::optional<double>>(9);
    row.locality = statement.value<std::optional<double>>(10);
    row.asked_max_over_mean = statement.value<std::optional<double>>(11);
    row.placed_rank_max_over_mean = statement.value<std::optional<double>>(12);
  }
  return rows;
}

std::map<std::int64_t, TrialFigures> load_trial_figures(const Connection& connection) {
  Statement statement(connection,
                      "SELECT trial, speedup, coalesce(changes_results, ''), last_loss, "
                      "sequential_last_loss, loss_difference, coalesce(speedup_against, ''), "
                      "coalesce(tied_with, ''), own_prediction_error, repeats, min_repeat_s, "
                      "max_repeat_s, min_iteration_s, least_speedup, most_speedup FROM trial_view");
  std::map<std::int64_t, TrialFigures> figures;
  while (statement.step()) {
    TrialFigures& row = figures[statement.value<std::int64_t>(0)];
    row.speedup = statement.value<std::optional<double>>(1);
    row.changes_results = statement.value<std::string>(2);
    row.last_loss = statement.value<std::optional<double>>(3);
    row.sequential_last_loss = statement.value<std::optional<double>>(4);
    row.loss_difference = statement.value<std::optional<double>>(5);
    row.speedup_against = statement.value<std::string>(6);
    row.tied_with = statement.value<std::string>(7);
    row.own_prediction_error = statement.value<std::optional<double>>(8);
    row.repeats = statement.value<int>(9);
    row.min_repeat_s = statement.value<std::optional<double>>(10);
    row.max_repeat_s = statement.value<std::optional<double>>(11);
    row.min_iteration_s = statement.value<std::optional<double>>(12);
    row.least_speedup = statement.value<std::optional<double>>(13);
    row.most_speedup = statement.value<std::optional<double>>(14);
  }
  return figures;
}

std::vector<SetupOverview> load_setup_overviews(const Connection& connection) {
  const std::vector<PredictedSetup> setups =
      select<PredictedSetup>(connection, "ORDER BY run_id DESC, settings, ranks, place");
  Statement statement(connection,
                      "SELECT on_front, model, coalesce(cluster, '') FROM setup_view "
                      "ORDER BY run DESC, coalesce(settings, ''), ranks, place");
  std::vector<SetupOverview> rows;
  while (statement.step() && rows.size() < setups.size()) {
    SetupOverview& row = rows.emplace_back();
    row.setup = setups[rows.size() - 1];
    row.on_front = statement.value<std::int64_t>(0) != 0;
    row.model = statement.value<std::string>(1);
    row.cluster = statement.value<std::string>(2);
  }
  return rows;
}

std::map<std::int64_t, RunPlace> load_run_places(const Connection& connection) {
  Statement statement(connection,
                      "SELECT run.id, run.kind, run.machine_id, machine.hostname, run.network, "
                      "(SELECT count(DISTINCT node) FROM run_rank WHERE run_rank.run_id = run.id) "
                      "FROM run JOIN machine ON machine.id = run.machine_id WHERE run.id IN "
                      "(SELECT run_id FROM measurement UNION SELECT run_id FROM fit)");
  std::map<std::int64_t, RunPlace> places;
  while (statement.step()) {
    places[statement.value<std::int64_t>(0)] = {
        statement.value<std::string>(1), statement.value<std::int64_t>(2),
        statement.value<std::string>(3), statement.value<std::string>(4), statement.value<int>(5)};
  }
  return places;
}

}  // namespace db
