#include "db/load.h"

#include <gtest/gtest.h>

#include <functional>

#include "db/query.h"
#include "db/statement.h"
#include "tests/db/sample.h"

namespace db::load_test {
namespace {

class LoadRows : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
};

TEST_F(LoadRows, RunsAreNewestFirstAndFiltered) {
  db::Run later = sample_run(sample.machine);
  later.kind = "bench";
  later.started_at = now() + 10;
  const auto later_id = insert(connection, later);
  const auto runs = load_runs(connection);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].id, later_id);
  EXPECT_EQ(runs[1].argv_json, R"(["moe-train","--model","tiny"])");
  RunFilter filter;
  filter.kind = "train";
  EXPECT_EQ(load_runs(connection, filter).at(0).id, sample.run);
  filter = {};
  filter.limit = 1;
  EXPECT_EQ(load_runs(connection, filter).size(), 1U);
}

TEST_F(LoadRows, AnUnknownIdIsNotFound) {
  try {
    load_run(connection, 77);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::not_found);
    EXPECT_STREQ(error.what(), ":memory:: no run 77");
  }
  EXPECT_EQ(find_study(connection, "none"), std::nullopt);
}

TEST_F(LoadRows, IterationsGoOnFromWhereAViewerIs) {
  EXPECT_EQ(load_iterations(connection, sample.run).size(), 3U);
  const auto rest = load_iterations(connection, sample.run, 2);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].heldout_loss, 3.25);
}

TEST_F(LoadRows, ThePeakIsThatOfTheFastestProductOnSuchARank) {
  const Machine machine = load_machine(connection, sample.machine);
  const auto store = [&](int threads, const std::string& op, const std::string& dtype,
                         double flops) {
    db::Run run = sample_run(sample.machine);
    run.kind = "bench";
    RunRank rank;
    rank.run_id = insert(connection, run);
    rank.threads = threads;
    insert(connection, std::vector{rank});
    Measurement row;
    row.run_id = rank.run_id;
    row.op = op;
    row.device = "cpu";
    row.dtype = dtype;
    row.flops = flops;
    row.time_s = 2;
    insert(connection, std::vector{row});
  };
  const auto peak = [&](const Machine& of, int threads, const std::string& dtype = "f32") {
    return load_peak_flops_per_s(connection, of, "cpu", dtype, threads);
  };
  EXPECT_EQ(peak(machine, 1), std::nullopt);
  store(1, "linear", "f32", 100);
  store(1, "expert_linear_weight_gradient", "f32", 120);
  store(2, "linear", "f32", 200);
  store(1, "linear", "bf16", 400);
  store(1, "copy", "f32", 900);
  EXPECT_EQ(peak(machine, 1), 60);
  EXPECT_EQ(peak(machine, 2), 100);
  EXPECT_EQ(peak(machine, 1, "bf16"), 200);
  EXPECT_EQ(peak(machine, 4), std::nullopt);
  EXPECT_EQ(peak(sample_machine("another"), 1), std::nullopt);
}

TEST_F(LoadRows, LoadsOfOneLayerAndARangeOfIterations) {
  LoadFilter filter;
  filter.run_id = sample.run;
  EXPECT_EQ(load_loads(connection, filter).size(), 24U);
  filter.first_iteration = 1;
  filter.last_iteration = 1;
  EXPECT_EQ(load_loads(connection, filter).size(), 8U);
  filter.layer = 2;
  EXPECT_TRUE(load_loads(connection, filter).empty());
}

TEST_F(LoadRows, ExpertLoadsSumOverSourceRanks) {
  LoadFilter filter;
  filter.run_id = sample.run;
  filter.last_iteration = 0;
  const auto loads = load_expert_loads(connection, filter);
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_EQ(loads[3].tokens, 800);
  EXPECT_EQ(loads[3].asked_tokens, 820);
  EXPECT_EQ(loads[3].rank, -1);
}

TEST_F(LoadRows, LoadsAreOfMicroBatchesAndTheViewOfWholeIterations) {
  const std::vector<Load> parts{{sample.run, 9, 1, 0, 0, 5, 6, 1},
                                {sample.run, 9, 1, 0, 0, 7, 7, 0},
                                {sample.run, 9, 1, 0, 1, 2, {}, 1},
                                {sample.run, 9, 1, 0, 1, 1, 1, 0}};
  insert(connection, parts);
  const LoadFilter filter{.run_id = sample.run, .first_iteration = 9};
  const auto loads = load_loads(connection, filter);
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_EQ(loads[0].micro_batch, 0);
  EXPECT_EQ(loads[0].tokens, 7);
  EXPECT_EQ(loads[1].micro_batch, 1);
  EXPECT_EQ(loads[1].asked_tokens, 6);
  const auto whole = load_expert_loads(connection, filter);
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[0].tokens, 12);
  EXPECT_EQ(whole[0].micro_batch, -1);
  Query query(connection,
              "SELECT expert, tokens, asked_tokens, dropped_tokens FROM load_view "
              "WHERE iteration = 9 ORDER BY expert");
  using Row = std::vector<Cell>;
  EXPECT_EQ(query.next(),
            (Row{std::int64_t{0}, std::int64_t{12}, std::int64_t{13}, std::int64_t{1}}));
  EXPECT_EQ(query.next(), (Row{std::int64_t{1}, std::int64_t{3}, Cell(), Cell()}))
      << "one is not known";
  EXPECT_EQ(query.next(), std::nullopt);
}

TEST_F(LoadRows, WhatAnExpertWasAskedForIsNotKnownWhereOneRanksIsNot) {
  const std::vector<Load> half{{sample.run, 9, 1, 0, 0, 5, 6}, {sample.run, 9, 1, 1, 0, 5, {}}};
  insert(connection, half);
  EXPECT_EQ(
      load_expert_loads(connection, {.run_id = sample.run, .first_iteration = 9})[0].asked_tokens,
      std::nullopt);
}

TEST_F(LoadRows, RecordedIterationsAreThoseWithLoads) {
  const std::vector<Load> later{{sample.run, 70, 1, 0, 0, 1, 1}, {sample.run, 50, 1, 0, 0, 1, 1}};
  insert(connection, later);
  EXPECT_EQ(load_recorded_iterations(connection, sample.run), (std::vector{0, 1, 2, 50, 70}));
  EXPECT_TRUE(load_recorded_iterations(connection, sample.run + 1).empty());
}

TEST_F(LoadRows, TrialsByStatus) {
  EXPECT_EQ(load_trials(connection, sample.study).size(), 3U);
  const auto failed = load_trials(connection, sample.study, "out_of_memory");
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].planner, "pipemoe");
  EXPECT_EQ(failed[0].measured_s, std::nullopt);
  EXPECT_EQ(find_study(connection, "sample study")->id, sample.study);
  EXPECT_EQ(load_trial_repeats(connection, sample.trials[1])[0].steps, 5);
}

TEST_F(LoadRows, LatestFitOfEachLineWins) {
  auto fit = load_latest_fits(connection).at(0);
  fit.id = 0;
  fit.alpha_s = 1;
  insert(connection, std::span<const Fit>(&fit, 1));
  fit.link = "intra_node";
  fit.alpha_s = 2;
  insert(connection, std::span<const Fit>(&fit, 1));
  const auto latest = load_latest_fits(connection, sample.machine);
  ASSERT_EQ(latest.size(), 2U);
  EXPECT_EQ(latest[0].alpha_s, 1);
  EXPECT_EQ(latest[1].alpha_s, 2);
  EXPECT_TRUE(load_latest_fits(connection, sample.machine + 1).empty());
}

TEST_F(LoadRows, FitsOfOtherMachinesNetworksAndNodesAreOtherLines) {
  Fit fit = load_latest_fits(connection).at(0);
  Machine other = sample_machine();
  other.fingerprint = "another";
  other.hostname = "another";
  const std::int64_t machine = find_or_insert(connection, other);
  const auto store = [&](const std::function<void(Fit&)>& change) {
    Fit changed = fit;
    changed.id = 0;
    change(changed);
    insert(connection, std::span<const Fit>(&changed, 1));
  };
  store([](Fit& row) { row.network = "box 1 Gbit/s"; });
  store([](Fit& row) { row.network = "box 0.3 Gbit/s"; });
  store([](Fit& row) { row.nodes = 4; });
  store([&](Fit& row) { row.machine_id = machine; });
  EXPECT_EQ(load_latest_fits(connection).size(), 5U);
  ASSERT_EQ(load_latest_fits(connection, machine).size(), 1U);
  EXPECT_EQ(load_latest_fits(connection, machine)[0].machine_id, machine);
  EXPECT_EQ(load_latest_fits(connection, sample.machine).size(), 4U);
}

TEST_F(LoadRows, MeasurementsByOp) {
  MeasurementFilter filter;
  filter.op = "gemm";
  EXPECT_TRUE(load_measurements(connection, filter).empty());
  filter.op = "all_to_all";
  EXPECT_EQ(load_measurements(connection, filter).at(0).bytes, 16 << 20);
}

TEST_F(LoadRows, TimelinesOfARunAndOfATrial) {
  TimelineFilter filter;
  filter.run_id = sample.run;
  EXPECT_EQ(load_timelines(connection, filter).size(), 2U);
  filter.kind = "predicted";
  EXPECT_EQ(load_timelines(connection, filter).at(0).id, sample.predicted);
  filter = {};
  filter.trial_id = sample.trials[1];
  EXPECT_EQ(load_timelines(connection, filter).at(0).id, sample.predicted);
}

TEST_F(LoadRows, SpansComeByRankAndStart) {
  const auto spans = load_spans(connection, sample.measured);
  ASSERT_EQ(spans.size(), 6U);
  EXPECT_EQ(spans[4].rank, 1);
  EXPECT_EQ(spans[4].op, 1);
  EXPECT_EQ(spans[4].bytes, 4000000);
}

double number(const Connection& connection, const std::string& sql) {
  Statement statement(connection, sql);
  EXPECT_TRUE(statement.step()) << sql;
  return statement.value<double>(0);
}

// The names that DESIGN.md promises to people and notebooks.
TEST_F(LoadRows, StableViewsHaveTheirColumns) {
  for (const char* sql :
       {"SELECT run, kind, name, status, layout FROM run_view",
        "SELECT study, planner, status, paper_s, predicted_s, measured_s, lower_bound_s, "
        "predicted_peak_bytes, measured_peak_bytes, speedup, layout, predicted_deviation_s FROM "
        "trial_view",
        "SELECT run, timeline, rank, op, name, start_s, duration_s, bytes FROM span_view",
        "SELECT run, iteration, layer, expert, rank, tokens, dropped_tokens FROM load_view",
        "SELECT run, iteration, layer, tokens, dropped_tokens, max_over_mean, rank_max_over_mean, "
        "standard_deviation, locality FROM balance_view",
        "SELECT op, device, alpha_s, beta_s_per_unit, unit, r2, samples, relative_deviation FROM "
        "fit_view",
        "SELECT op, bytes, time_s, bus_bandwidth_bytes_per_s FROM measurement_view"}) {
    EXPECT_TRUE(Statement(connection, sql).step()) << sql;
  }
}

TEST_F(LoadRows, SpeedupIsAgainstTheSequentialTrialOfTheStudy) {
  EXPECT_DOUBLE_EQ(number(connection, "SELECT speedup FROM trial_view WHERE planner = 'tutel'"), 2);
  EXPECT_DOUBLE_EQ(
      number(connection, "SELECT speedup FROM trial_view WHERE planner = 'sequential'"), 1);
  EXPECT_EQ(number(connection, "SELECT speedup IS NULL FROM trial_view WHERE planner = 'pipemoe'"),
            1);
  EXPECT_NEAR(number(connection, "SELECT prediction_error FROM trial_view WHERE planner = 'tutel'"),
              0.1, 1e-12);
}

TEST_F(LoadRows, BalanceIsTheFullestExpertOverTheMean) {
  EXPECT_DOUBLE_EQ(number(connection, "SELECT max_over_mean FROM balance_view WHERE run = 1"), 1.6);
  EXPECT_DOUBLE_EQ(number(connection, "SELECT rank_max_over_mean FROM balance_view"), 1.4);
  EXPECT_EQ(number(connection, "SELECT sum(dropped_tokens) FROM load_view WHERE iteration = 0"),
            number(connection, "SELECT dropped_tokens FROM balance_view WHERE iteration = 0"));
}

TEST_F(LoadRows, LayoutsStandInTheViewsOfRunsAndTrials) {
  db::Run bench = sample_run(sample.machine);
  bench.layout = "";
  const auto id = insert(connection, bench);
  EXPECT_EQ(number(connection, "SELECT count(*) FROM run_view WHERE layout IS NULL AND run = " +
                                   std::to_string(id)),
            1);
  EXPECT_EQ(
      number(connection, "SELECT count(*) FROM trial_view WHERE layout = 'dp=1,ep=2,esp=1,tp=1'"),
      3);
}

}  // namespace
}  // namespace db::load_test
