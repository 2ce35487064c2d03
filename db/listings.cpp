#include "db/listings.h"

#include <fmt/core.h>

#include "db/query.h"

namespace db {
namespace {

const ListingFilter kByRun{"--run", "run", "only rows of this run"};
const ListingFilter kByOp{"--op", "op", "only rows of this op, e.g. all_to_all"};
const ListingFilter kByDevice{"--device", "device", "only rows of this device: cpu, cuda"};
const ListingFilter kByLayer{"--layer", "layer", "only rows of this layer"};
const ListingFilter kByRank{"--rank", "rank", "only rows of this rank"};
const ListingFilter kByIteration{"--iteration", "iteration", "only rows of this iteration"};
const ListingFilter kByStudy{"--study", "study", "only rows of this study"};
const ListingFilter kByPart{"--part-of", "part_of",
                            "only studies of this one, which has several layouts"};
const ListingFilter kByTrial{"--trial", "trial", "only rows of this trial"};

Listing runs() {
  return {
      "runs",
      "list executions of the programs, newest first",
      "runs --db results.db --kind train --limit 10",
      "run_view",
      "run, kind, name, status, device, ranks, layout, planner, machine, started_at, duration_s, "
      "last_iteration, last_loss, network",
      "started_at DESC, run DESC",
      {kByRun,
       {"--kind", "kind",
        "only runs of this kind: train, bench, fit, study, search, simulate, figures"},
       {"--name", "name", "only runs of this name: a model, a study, a benchmark"},
       {"--status", "status", "only runs of this status: running, done, failed, killed"}},
      "resumes_run is the run from whose checkpoint this one goes on, and changes_results names "
      "the decisions that change losses and gradients. A table has these columns where a run has "
      "such.",
      {{"resumes_run", "resumes_run"}, {"changes_results", "changes_results"}}};
}

Listing trials() {
  return {
      "trials",
      "list candidate schedules of studies, fastest first",
      "trials --db results.db --study quickstart",
      "trial_view",
      "study, layout, trial, planner, parameters, status, paper_s, first_predicted_s, "
      "predicted_s, predicted_deviation_s, measured_s, lower_bound_s, speedup, least_speedup, "
      "most_speedup, "
      "tied_with, "
      "prediction_error, own_prediction_error, predicted_peak_bytes, measured_peak_bytes",
      "study_id DESC, measured_s NULLS LAST, predicted_s NULLS LAST, trial",
      {kByStudy,
       kByPart,
       {"--planner", "planner", "only trials of this planner"},
       {"--status", "status",
        "only trials of this status: planned, running, done, infeasible, out_of_memory, hung, "
        "crashed, failed"}},
      "changes_results names the decisions that change losses and gradients. A table has this "
      "column and the losses where a trial has such a decision. loss_difference is last_loss "
      "minus that of the sequential trial.\n"
      "speedup is over the sequential trial or, where that is infeasible or failed, over the "
      "fastest one: speedup_against in CSV and JSON. Trials are compared by the iterations in "
      "which "
      "they took turns; the interval of a speed-up is one of 95%.\n"
      "failure: why a trial was not measured. A table has it where one was not.\n"
      "tied_with names the trials that the repeats do not tell from this one. own_prediction_error "
      "is prediction_error without what is common to all trials of the study.",
      {{"failure", "failure"},
       {"changes_results", "changes_results, last_loss, sequential_last_loss, loss_difference"}}};
}

Listing studies() {
  return {"studies",
          "list studies: the fastest schedule, and how good the predictions were",
          "studies --db results.db",
          "study_view",
          "study, ranks, layout, trials, finished_trials, fastest, measured_s, tied_with, "
          "mean_prediction_error, worst_prediction_error, common_prediction_error, common_share, "
          "kendall_tau, kendall_tau_told_apart, regret, within_deviation",
          "study_id DESC",
          {kByStudy, kByPart},
          "mean, worst and common_prediction_error: of the sizes of the errors of first "
          "predictions, the largest, and the mean with signs.\n"
          "common_share: of the mean square error.\n"
          "kendall_tau: of the predicted and the measured order; 1 is the same order. "
          "kendall_tau_told_apart: of the pairs that repeats tell apart.\n"
          "regret: what the trial that is predicted to be best takes longer than the best, of the "
          "trials that no refinement planned.\n"
          "within_deviation: share of the trials measured within one predicted deviation; 68% is "
          "expected."};
}

Listing setups() {
  return {
      "setups",
      "list layouts, micro-batches and schedules that moe-tune search found, newest search first",
      "setups --db results.db --run 12",
      "setup_view",
      "run, model, ranks, settings, place, layout, micro_batches, micro_batch_order, planner, "
      "predicted_s, tokens_per_s, peak_share, predicted_peak_bytes, shard_optimizer, "
      "restored_blocks, whole_blocks, bounded_by, on_front",
      "run DESC, settings, ranks, place",
      {kByRun,
       {"--model", "model", "only searches for this model"},
       {"--ranks", "ranks", "only setups of so many ranks"},
       {"--on-front", "on_front",
        "1: only setups that no other one of the search beats in time and in memory"}},
      "place: by predicted time, of setups of one run with equal ranks and settings.\n"
      "restored_blocks: how many blocks backward computes once more, which saves memory; "
      "whole_blocks: how many of them with their exchanges.\n"
      "on_front: 1 where no other setup is as fast and as lean."};
}

Listing fits() {
  return {
      "fits",
      "list times by size, t = alpha + beta n or points, fitted to measurements, newest first",
      "fits --db results.db --op all_to_all",
      "fit_view",
      "fit, op, device, ranks, link, alpha_s, beta_s_per_unit, unit, units_per_s, r2, samples, "
      "max_relative_residual, machine, run, alpha_error_s, beta_error_s_per_unit, outliers, "
      "verdict, measured_on, network, nodes",
      "fit DESC",
      {kByRun,
       kByOp,
       kByDevice,
       {"--link", "link", "only fits of this link: inter_node, intra_node"}},
      "n counts the unit of the row: bytes or FLOPs. units_per_s is 1 / beta. Where samples bend, "
      "alpha is the time of no units and beta that of one more beyond the largest size; points "
      "in fit_view says what is between. The errors are standard errors. verdict is \"good\", or "
      "says what is wrong with the fit."};
}

Listing measurements() {
  return {"measurements",
          "list rows of microbenchmark sweeps, newest run first",
          "measurements --db results.db --op all_reduce",
          "measurement_view",
          "run, op, device, dtype, ranks, parameters, bytes, count, time_s, min_s, max_s, "
          "algorithm_bandwidth_bytes_per_s AS algbw_bytes_per_s, "
          "bus_bandwidth_bytes_per_s AS busbw_bytes_per_s, flops_per_s, wrong, p95_s, "
          "relative_deviation AS cv, samples, machine, nodes, network, started_at, revision",
          "run DESC, op, ranks, bytes, flops, measurement",
          {kByRun, kByOp, kByDevice},
          "time_s: median of the samples, each of the slowest rank. p95_s: 95 of 100 take no "
          "longer.\n"
          "cv: standard deviation over mean.\n"
          "machine: of rank 0; nodes: how many there were. measurement_rank_view has the time of "
          "every rank, pair_view the messages of moe-bench pairs."};
}

Listing loads() {
  return {
      "loads",
      "list tokens per expert and source rank, of iterations whose loads are stored",
      "loads --db results.db --run 7 --iteration 5 --layer 1",
      "load_view",
      "*",
      "run, iteration, layer, rank, expert",
      {kByRun, kByIteration, kByLayer, kByRank, {"--expert", "expert", "only rows of this expert"}},
      "tokens: copies that the rank sent to the expert.\n"
      "asked_tokens: what its gate asked for.\n"
      "dropped_tokens: the difference, which was over capacity.\n"
      "A dash means that it was not recorded."};
}

Listing balance() {
  return {
      "balance",
      "list how even the loads of every MoE layer were, for every iteration",
      "balance --db results.db --run 7 --layer 1",
      "balance_view",
      "run, iteration, layer, experts, tokens, dropped_tokens, max_tokens, max_over_mean, "
      "asked_max_over_mean, unused_experts, standard_deviation, rank_max_over_mean, "
      "rank_standard_deviation, locality, "
      "placed_rank_max_over_mean, placed_rank_standard_deviation, balance_ratio",
      "run, iteration, layer",
      {kByRun, kByIteration, kByLayer},
      "tokens: copies that travelled, to all experts.\n"
      "max_tokens: to the fullest expert.\n"
      "max_over_mean: the fullest expert over the mean, of what travelled. 1x is even; the number "
      "of experts is the worst.\n"
      "asked_max_over_mean: the same of what gates asked for, before copies were dropped.\n"
      "standard_deviation: of the experts' tokens, in tokens (Pro-Prophet's balance degree).\n"
      "rank_...: the same for the tokens whose expert, or share of it, belongs to a rank.\n"
      "placed_rank_...: for those that a rank computed. A dash: no expert was replicated.\n"
      "balance_ratio: the standard deviation over ranks without replicas, over that with them.\n"
      "locality: cosine similarity of what gates asked for to the iteration before; 1 is the same "
      "distribution."};
}

Listing iterations() {
  return {
      "iterations",
      "list training steps: losses, times, tokens",
      "iterations --db results.db --run 7 --format csv > losses.csv",
      "iteration_view",
      "*",
      "run, iteration",
      {kByRun, kByIteration},
      "loss: mean cross entropy of a token of the batch, in nats.\n"
      "heldout_loss: the same of text that is not trained on.\n"
      "auxiliary_loss: the load-balancing losses of all layers, unweighted.\n"
      "dropped_tokens: copies of tokens over the capacity of their expert.\n"
      "flops: the FLOPs of the matrix products of all ranks.\n"
      "peak_share: their rate over that of the fastest product that moe-bench measured here.\n"
      "exposed_s: how long a rank communicated and computed nothing, mean of the ranks.\n"
      "max_over_mean: copies that gates asked the fullest expert for over the mean, in the least "
      "even layer."};
}

Listing timelines() {
  return {"timelines",
          "list measured and predicted timelines",
          "timelines --db results.db --kind predicted",
          "timeline_view",
          "*",
          "timeline",
          {kByRun,
           kByStudy,
           kByTrial,
           {"--kind", "kind", "only timelines of this kind: measured, predicted, imported"}}};
}

Listing spans() {
  return {"spans",
          "list executions of ops on ranks, in the order of time",
          "spans --db results.db --timeline 3 --rank 0 --format csv > s.csv",
          "span_view",
          "timeline, rank, op, name, stream, phase, layer, chunk, start_s, duration_s, waiting_s, "
          "transfer_s, bytes, bandwidth_bytes_per_s, flops_per_s",
          "timeline, rank, start_s",
          {{"--timeline", "timeline", "only spans of this timeline"},
           kByRun,
           kByTrial,
           kByRank,
           kByLayer,
           {"--stream", "stream",
            "only spans of this stream: compute, inter_node, intra_node, copy, host"},
           {"--kind", "kind", "only spans of this kind of op, e.g. all_to_all"}}};
}

Listing figures() {
  return {"figures",
          "list figures of the papers beside ours",
          "figures --db results.db --paper FSMoE",
          "figure_view",
          "paper, place, setting, system, quantity, paper_value, value, difference, basis",
          "run DESC, paper, place, setting, system, quantity",
          {kByRun,
           {"--paper", "paper", "only figures of this paper: FSMoE, Lancet, MPMoE, Pro-Prophet"},
           {"--place", "place",
            "only numbers that this table or picture of the paper prints, e.g. \"Table 5\""},
           {"--system", "system", "only figures of this system, e.g. Tutel"}},
          "paper_value: the figure that the paper prints.\n"
          "value: the figure of moelab; basis says whether it was simulated or measured.\n"
          "difference: value over paper_value, less 1.\n"
          "moe-db import figures stores them, and experiments/reproduce --db does."};
}

}  // namespace

const std::vector<Listing>& all_listings() {
  static const std::vector<Listing> listings{runs(),       studies(),      trials(), setups(),
                                             fits(),       measurements(), loads(),  balance(),
                                             iterations(), timelines(),    spans(),  figures()};
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
    for (const RareColumns& rare : listing.rare) {
      Query shown(
          connection,
          fmt::format("SELECT 1 FROM ({}) WHERE {} IS NOT NULL", select("*"), rare.shown_by),
          parameters);
      if (shown.next()) columns += fmt::format(", {}", rare.columns);
    }
  }
  Query query(connection, select(columns), parameters);
  return write_query(file, style, query);
}

}  // namespace db
