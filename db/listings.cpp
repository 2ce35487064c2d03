#include "db/listings.h"

#include <fmt/core.h>

#include <string_view>

#include "db/query.h"

namespace db {

const std::vector<Listing>& all_listings() {
  static const ListingFilter by_run{"--run", "run", "of this run only"};
  static const ListingFilter by_op{"--op", "op", "of this op only, e.g. all_to_all"};
  static const ListingFilter by_device{"--device", "device", "cpu or cuda"};
  static const ListingFilter by_layer{"--layer", "layer", "of this layer only"};
  static const ListingFilter by_rank{"--rank", "rank", "of this rank only"};
  static const ListingFilter by_iteration{"--iteration", "iteration", "of this iteration only"};
  static const ListingFilter by_study{"--study", "study", "of this study only"};
  static const std::vector<Listing> listings{
      {"runs",
       "executions of the programs, newest first",
       "runs --db results.db --kind train --limit 10",
       "run_view",
       "run, kind, name, status, device, ranks, layout, planner, machine, started_at, duration_s, "
       "last_iteration, last_loss",
       "started_at DESC, run DESC",
       {by_run,
        {"--kind", "kind", "train, bench, fit, study or simulate"},
        {"--name", "name", "of this name only"},
        {"--status", "status", "running, done, failed or killed"}},
       "",
       "changes_results",
       "changes_results"},
      {"trials",
       "candidate schedules of studies, fastest first",
       "trials --db results.db --study quickstart",
       "trial_view",
       "study, layout, trial, planner, parameters, status, paper_s, predicted_s, "
       "predicted_deviation_s, "
       "measured_s, "
       "lower_bound_s, "
       "speedup, prediction_error, predicted_peak_bytes, measured_peak_bytes",
       "study_id DESC, measured_s NULLS LAST, predicted_s NULLS LAST, trial",
       {by_study,
        {"--planner", "planner", "of this planner only"},
        {"--status", "status", "planned, running, done, infeasible, out_of_memory, hung, ..."}},
       "changes_results: decisions that change losses and gradients; the table has it and the "
       "losses\n"
       "where a trial has one. loss_difference: last_loss over the sequential trial's.",
       "changes_results",
       "changes_results, last_loss, sequential_last_loss, loss_difference"},
      {"fits",
       "lines t = alpha + beta n fitted to measurements, newest first",
       "fits --db results.db --op all_to_all",
       "fit_view",
       "fit, op, device, ranks, link, alpha_s, beta_s_per_unit, unit, units_per_s, r2, samples, "
       "max_relative_residual, machine, run",
       "fit DESC",
       {by_run, by_op, by_device, {"--link", "link", "inter_node or intra_node"}},
       "n is counted in the row's unit: bytes, or FLOPs. units_per_s = 1 / beta."},
      {"measurements",
       "rows of microbenchmark sweeps, newest run first",
       "measurements --db results.db --op all_reduce",
       "measurement_view",
       "run, op, device, dtype, ranks, parameters, bytes, count, time_s, min_s, max_s, "
       "algorithm_bandwidth_bytes_per_s AS algbw_bytes_per_s, "
       "bus_bandwidth_bytes_per_s AS busbw_bytes_per_s, flops_per_s, wrong",
       "run DESC, op, ranks, bytes, flops, measurement",
       {by_run, by_op, by_device}},
      {"loads",
       "tokens per expert and source rank, of the iterations whose loads are stored",
       "loads --db results.db --run 7 --iteration 5 --layer 1",
       "load_view",
       "*",
       "run, iteration, layer, rank, expert",
       {by_run, by_iteration, by_layer, by_rank, {"--expert", "expert", "of this expert only"}},
       "tokens: copies that the rank sent to the expert. asked_tokens: what its gate asked for.\n"
       "dropped_tokens: the difference, over capacity. A dash: not recorded."},
      {"balance",
       "how even the loads of every MoE layer were, of every iteration",
       "balance --db results.db --run 7 --layer 1",
       "balance_view",
       "run, iteration, layer, experts, tokens, dropped_tokens, max_tokens, max_over_mean, "
       "unused_experts, standard_deviation, rank_max_over_mean, rank_standard_deviation, locality, "
       "placed_rank_max_over_mean, placed_rank_standard_deviation, balance_ratio",
       "run, iteration, layer",
       {by_run, by_iteration, by_layer},
       "tokens: copies that travelled, of all experts; max_tokens: to the fullest expert.\n"
       "max_over_mean: the fullest expert over the mean; 1x is even, as many as experts the "
       "worst.\n"
       "standard_deviation: of the experts' tokens, in tokens (Pro-Prophet's balance degree).\n"
       "rank_...: the same of the tokens whose expert, or share of it, belongs to a rank.\n"
       "placed_rank_...: of those that a rank computed; a dash: no expert was replicated.\n"
       "balance_ratio: standard deviation over ranks before replicas, over that after.\n"
       "locality: cosine similarity to the experts' tokens in the iteration before; 1 is alike."},
      {"iterations",
       "training steps: losses, times, tokens",
       "iterations --db results.db --run 7 --format csv > losses.csv",
       "iteration_view",
       "*",
       "run, iteration",
       {by_run, by_iteration}},
      {"timelines",
       "measured and predicted timelines",
       "timelines --db results.db --kind predicted",
       "timeline_view",
       "*",
       "timeline",
       {by_run,
        by_study,
        {"--trial", "trial", "of this trial only"},
        {"--kind", "kind", "measured, predicted or imported"}}},
      {"spans",
       "executions of ops on ranks, in the order of time",
       "spans --db results.db --timeline 3 --rank 0 --format csv > spans.csv",
       "span_view",
       "timeline, rank, op, name, stream, phase, layer, chunk, start_s, duration_s, bytes, "
       "bandwidth_bytes_per_s, flops_per_s",
       "timeline, rank, start_s",
       {{"--timeline", "timeline", "of this timeline only"},
        by_run,
        {"--trial", "trial", "of this trial only"},
        by_rank,
        by_layer,
        {"--stream", "stream", "compute, inter_node, intra_node, copy or host"},
        {"--kind", "kind", "of this kind of op, e.g. all_to_all"}}}};
  return listings;
}

std::int64_t write_listing(std::FILE* file, const Style& style, const Connection& connection,
                           const Listing& listing, const std::map<std::string, std::string>& values,
                           std::int64_t limit) {
  std::string where;
  std::vector<Cell> parameters;
  for (const ListingFilter& filter : listing.filters) {
    const auto value = values.find(filter.option);
    if (value == values.end()) continue;
    parameters.emplace_back(value->second);
    where += fmt::format("{} {} = ?{}", where.empty() ? " WHERE" : " AND", filter.column,
                         parameters.size());
  }
  const auto select = [&](const std::string& columns) {
    return fmt::format("SELECT {} FROM {}{} ORDER BY {}{}", columns, listing.view, where,
                       listing.order, limit > 0 ? fmt::format(" LIMIT {}", limit) : "");
  };
  std::string columns = "*";
  if (style.format == Format::table) {
    columns = listing.table_columns;
    const std::string_view shown_by = listing.shown_by;
    if (!shown_by.empty()) {
      Query shown(connection,
                  fmt::format("SELECT 1 FROM ({}) WHERE {} IS NOT NULL", select("*"), shown_by),
                  parameters);
      if (shown.next()) columns += fmt::format(", {}", listing.rare_columns);
    }
  }
  Query query(connection, select(columns), parameters);
  return write_query(file, style, query);
}

}  // namespace db
