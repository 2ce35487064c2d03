#include "db/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "db/check.h"
#include "db/connection.h"
#include "db/load.h"
#include "db/load_views.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db {
namespace {

OpenOptions with_extra(const std::string& sql) {
  OpenOptions options;
  options.migrations.push_back({options.migrations.back().version + 1, sql});
  return options;
}

TEST(Migrations, VersionsCountUpFromOne) {
  int version = 0;
  for (const Migration& migration : all_migrations()) EXPECT_EQ(migration.version, ++version);
}

TEST(Migrations, BringAnOlderFileUpAndKeepItsRows) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    store_sample(connection);
  }
  const auto newer = with_extra("ALTER TABLE run ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'");
  {
    const auto connection = open_writer(path, newer);
    SQLite::Statement mood(connection.database(), "SELECT mood FROM run");
    ASSERT_TRUE(mood.executeStep());
    EXPECT_EQ(mood.getColumn(0).getString(), "fine");
    EXPECT_EQ(load_runs(connection).size(), 1U);
  }
  EXPECT_EQ(read_file(path).at(63), all_migrations().back().version + 1);  // user_version
  EXPECT_NO_THROW(open_reader(path, newer));
  EXPECT_THROW(open_reader(path), Error);
}

// What version 1 wrote of a study with a trained run: hidden keys in its settings, no activities.
const char* const version_1_rows = R"sql(
INSERT INTO machine VALUES (1, 'm', 'node0', '', '', 1, 1, '', 0, '');
INSERT INTO schedule VALUES (1, 'h', 'tutel', '{"planner":"tutel"}');
INSERT INTO run VALUES (1, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '', '', 'cpu', 2, '', '', 1, 0);
INSERT INTO run VALUES (2, 1, 'bench', 'all', 'done', '', 1, 2, 2, 1, '', '', '', 'cpu', 2, '', '', NULL, 0);
INSERT INTO iteration VALUES (1, 1, 5.5, 0, NULL, 0.5, 1024, 0);
INSERT INTO study VALUES (1, 'all', '', '', '{"costs":{"alpha":1.0e-5},"profile_runs":[1,2],"top":8}', 2, 1);
INSERT INTO study VALUES (2, 'begun', '', '', '{"top":8}', 2, 1);
INSERT INTO study VALUES (3, 'empty', '', '', '', 2, 1);
INSERT INTO timeline VALUES (1, 1, NULL, 'measured', '', 1, 1);
INSERT INTO timeline_op VALUES
  (1, 0, 'gate', 'gate', 'compute', 'forward', 1, 0, 1),
  (1, 1, 'dispatch', 'all_to_all', 'compute', 'forward', 1, 0, 1),
  (1, 2, 'counts', 'exchange_counts', 'host', 'forward', 1, 0, 1),
  (1, 3, 'new', 'unknown', 'inter_node', 'forward', 1, 0, 1),
  (1, 4, 'batch', 'copy', 'compute', 'forward', -1, 0, 1),
  (1, 5, 'read', 'host', 'host', 'forward', -1, 0, 1);
INSERT INTO span VALUES (1, 0, 0.0, 1, 0.5, 1, 1.0);
)sql";

Connection version_1_brought_up(const std::string& path) {
  OpenOptions first;
  first.migrations = {all_migrations().front()};
  open_writer(path, first).database().exec(version_1_rows);
  return open_writer(path);
}

TEST(Migrations, GiveOpsOfVersion1TheActivityThatKindAndStreamTell) {
  const TemporaryDirectory directory;
  const auto connection = version_1_brought_up(directory.file("a.db"));
  std::vector<std::string> activities;
  for (const TimelineOp& op : load_timeline_ops(connection, 1)) activities.push_back(op.activity);
  EXPECT_EQ(activities, (std::vector<std::string>{"computation", "communication", "communication",
                                                  "communication", "copy", "host"}));
  EXPECT_EQ(load_spans(connection, 1).size(), 1U);
}

TEST(Migrations, MoveWhatStudiesOfVersion1HidInTheirSettings) {
  const TemporaryDirectory directory;
  const auto connection = version_1_brought_up(directory.file("a.db"));
  const auto all = find_study(connection, "all").value();
  EXPECT_EQ(all.settings_json, R"({"top":8})");
  EXPECT_EQ(all.profile_runs_json, "[1,2]");
  EXPECT_EQ(all.cost_model_json, R"({"alpha":1.0e-5})");
  for (const char* name : {"begun", "empty"}) {
    const auto study = find_study(connection, name).value();
    EXPECT_EQ(study.profile_runs_json + study.cost_model_json, "") << name;
  }
  EXPECT_EQ(find_study(connection, "begun")->settings_json, R"({"top":8})");
}

TEST(Migrations, KeepPlannersAndSchedulesOfVersion1) {
  const TemporaryDirectory directory;
  const auto connection = version_1_brought_up(directory.file("a.db"));
  EXPECT_EQ(load_run(connection, 1).planner, "tutel");
  EXPECT_EQ(load_run(connection, 2).planner, "");
  EXPECT_EQ(load_iterations(connection, 1).at(0).schedule_id, std::nullopt);
  SQLite::Statement view(connection.database(), "SELECT schedule_id FROM iteration_view");
  ASSERT_TRUE(view.executeStep());
  EXPECT_EQ(view.getColumn(0).getInt64(), 1);
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

// What version 2 wrote: a study of two ranks with a repeat of its trial, its process, a training of a
// layout of its own and one from before there were layouts, of four ranks; a sweep.
const char* const version_2_rows = R"sql(
INSERT INTO machine VALUES (1, 'm', 'node0', '', '', 1, 1, '', 0, '');
INSERT INTO schedule VALUES (1, 'h', 'tutel', '{"planner":"tutel"}');
INSERT INTO run VALUES
  (1, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '["moe-train","--layout","ep=1"]', '', 'cpu', 2, '', '', 1, 0, 'tutel'),
  (2, 1, 'study', 'begun', 'done', '', 1, 2, 2, 1, '', '["moe-tune","--layout","ep=1"]', '', 'cpu', 2, '', '', NULL, 0, ''),
  (3, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '["moe-train","--layout","ep=1"]', '', 'cpu', 2, '', '', 1, 0, ''),
  (4, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '["moe-train"]', '', 'cpu', 4, '', '', 1, 0, ''),
  (5, 1, 'bench', 'all', 'done', '', 1, 2, 2, 1, '', '["moe-bench"]', '', 'cpu', 4, '', '', NULL, 0, '');
INSERT INTO measurement VALUES (1, 5, 'copy', 'cpu', 'float', 1, '', 8, 2, 0, 1, 1, 1, 1, 8, 8, 0),
  (2, 5, 'copy', 'cpu', 'uint64', 1, '', 8, 1, 0, 1, 1, 1, 1, 8, 8, 0);
INSERT INTO study VALUES
  (1, 'begun', '', '', '{"layout":"dp=2,ep=1,esp=1,tp=1","top":8}', 2, 1, '', ''),
  (2, 'old', '', '', '{"top":8}', 4, 1, '', ''),
  (3, 'empty', '', '', '', 2, 1, '', '');
INSERT INTO trial VALUES (1, 1, 1, 'tutel', '', 'done', '', 1, 1, 1, 1, 1, 1, 1, 2, 2);
INSERT INTO trial_repeat VALUES (1, 1, 1, 0.5, 10);
INSERT INTO iteration VALUES (4, 1, 5.5, 0, NULL, 0.5, 1024, 0, NULL), (4, 2, 5.5, 0, NULL, 0.5, 1024, 9, NULL),
  (4, 3, 5.5, 0, NULL, 0.5, 1024, 0, NULL), (4, 5, 5.5, 0, NULL, 0.5, 1024, 0, NULL);
INSERT INTO load VALUES (4, 1, 1, 0, 0, 3), (4, 1, 1, 0, 1, 0), (4, 1, 1, 1, 0, 0), (4, 1, 1, 1, 1, 4),
  (4, 2, 1, 0, 0, 4), (4, 2, 1, 0, 1, 0), (4, 2, 1, 1, 0, 0), (4, 2, 1, 1, 1, 3),
  (4, 3, 1, 0, 0, 0), (4, 3, 1, 0, 1, 0), (4, 5, 1, 0, 0, 2), (4, 5, 1, 0, 1, 0);
)sql";

Connection version_2_brought_up(const std::string& path) {
  OpenOptions second;
  second.migrations = all_migrations();
  second.migrations.resize(2);
  open_writer(path, second).database().exec(version_2_rows);
  return open_writer(path);
}

TEST(Migrations, GiveRunsAndStudiesOfVersion2TheirLayoutWhereItIsKnown) {
  const TemporaryDirectory directory;
  const auto connection = version_2_brought_up(directory.file("a.db"));
  std::vector<std::string> layouts;
  for (int run = 1; run <= 5; ++run) layouts.push_back(load_run(connection, run).layout);
  EXPECT_EQ(layouts,
            (std::vector<std::string>{"dp=2,ep=1,esp=1,tp=1,pp=1", "dp=2,ep=1,esp=1,tp=1,pp=1", "",
                                      "dp=1,ep=4,esp=1,tp=1,pp=1", ""}));
  EXPECT_EQ(find_study(connection, "begun")->layout, "dp=2,ep=1,esp=1,tp=1,pp=1");
  EXPECT_EQ(find_study(connection, "begun")->settings_json, R"({"top":8})");
  EXPECT_EQ(find_study(connection, "old")->layout, "dp=1,ep=4,esp=1,tp=1,pp=1");
  EXPECT_EQ(find_study(connection, "empty")->layout, "dp=1,ep=2,esp=1,tp=1,pp=1");
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

TEST(Migrations, WorkOutTheBalanceOfLoadsOfVersion2) {
  const TemporaryDirectory directory;
  const auto connection = version_2_brought_up(directory.file("a.db"));
  const auto rows = load_balances(connection, 4);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].tokens, 7);
  EXPECT_EQ(rows[0].max_tokens, 4);
  EXPECT_EQ(rows[0].experts, 2);
  EXPECT_DOUBLE_EQ(rows[0].max_over_mean.value(), 4 / 3.5);
  EXPECT_DOUBLE_EQ(rows[0].standard_deviation, 0.5);
  EXPECT_EQ(rows[0].dropped_tokens, 0);
  EXPECT_EQ(rows[1].dropped_tokens, std::nullopt)
      << "9 of the iteration, of which layer nobody knows";
  EXPECT_EQ(rows[0].rank_max_over_mean, std::nullopt);
  EXPECT_EQ(rows[0].locality, std::nullopt);
  EXPECT_DOUBLE_EQ(rows[1].locality.value(), 24.0 / 25);  // (3,4) and (4,3)
  EXPECT_EQ(rows[2].unused_experts, 2);
  EXPECT_EQ(rows[2].max_over_mean, std::nullopt);
  EXPECT_EQ(rows[2].locality, std::nullopt) << "nothing was routed";
  EXPECT_EQ(rows[3].locality, std::nullopt) << "iteration 4 is not there";
}

TEST(Migrations, CallDtypesOfVersion2WhatTheCommandLineCallsThem) {
  const TemporaryDirectory directory;
  const auto connection = version_2_brought_up(directory.file("a.db"));
  const auto rows = load_measurements(connection);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].dtype, "f32");
  EXPECT_EQ(rows[1].dtype, "u64");
}

TEST(Migrations, KnowWhatGatesOfVersion2AskedForWhereNothingWasDropped) {
  const TemporaryDirectory directory;
  const auto connection = version_2_brought_up(directory.file("a.db"));
  for (const Load& load : load_loads(connection, {.run_id = 4})) {
    const auto known = load.iteration == 2 ? std::nullopt : std::optional(load.tokens);
    EXPECT_EQ(load.asked_tokens, known) << load.iteration;
  }
}

TEST(Migrations, KnowNothingOfTheCoresOfRanksOfVersion3) {
  const TemporaryDirectory directory;
  OpenOptions third;
  third.migrations = all_migrations();
  third.migrations.resize(3);
  open_writer(directory.file("a.db"), third).database().exec(R"sql(
INSERT INTO machine VALUES (1, 'm', 'node0', '', '', 1, 1, '', 0, '');
INSERT INTO run VALUES (1, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '', '', 'cpu', 1, '', '', NULL, 0, '', '');
INSERT INTO run_rank VALUES (1, 0, 'node0', 0, 7, 0, 0, 5, 6);
INSERT INTO study VALUES (1, 'all', '', '{"name":"box","processors":0.0}', '', 2, 1, '', '', '');
)sql");
  const auto connection = open_writer(directory.file("a.db"));
  const RunRank rank = load_run_ranks(connection, 1).at(0);
  EXPECT_EQ(rank.measured_peak_bytes, 6);
  EXPECT_EQ(rank.core_set, std::nullopt);
  EXPECT_EQ(rank.threads, std::nullopt);
  EXPECT_EQ(find_study(connection, "all")->cluster_json, R"({"name":"box"})");
}

TEST(Migrations, KeepLoadsOfVersion4AsThoseOfAllMicroBatches) {
  const TemporaryDirectory directory;
  OpenOptions fourth;
  fourth.migrations = all_migrations();
  fourth.migrations.resize(4);
  open_writer(directory.file("a.db"), fourth).database().exec(R"sql(
INSERT INTO machine VALUES (1, 'm', 'node0', '', '', 1, 1, '', 0, '');
INSERT INTO run VALUES (1, 1, 'train', 'tiny', 'done', '', 1, 2, 2, 1, '', '', '', 'cpu', 1, '', '', NULL, 0, '', '');
INSERT INTO load VALUES (1, 5, 1, 0, 0, 3, 4), (1, 5, 1, 0, 1, 2, NULL);
)sql");
  const auto connection = open_writer(directory.file("a.db"));
  const auto loads = load_loads(connection, {.run_id = 1});
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[0].tokens, 3);
  EXPECT_EQ(loads[0].asked_tokens, 4);
  EXPECT_EQ(loads[0].micro_batch, -1);
  EXPECT_EQ(loads[1].asked_tokens, std::nullopt);
  SQLite::Statement view(connection.database(), "SELECT tokens, dropped_tokens FROM load_view");
  ASSERT_TRUE(view.executeStep());
  EXPECT_EQ(view.getColumn(0).getInt64(), 3);
  EXPECT_EQ(view.getColumn(1).getInt64(), 1);
}

TEST(Migrations, ApplyAllToANewFile) {
  const auto connection = open_writer(":memory:", with_extra("CREATE TABLE extra (id INTEGER)"));
  EXPECT_TRUE(connection.database().tableExists("extra"));
  EXPECT_TRUE(connection.database().tableExists("run"));
}

TEST(Migrations, OneThatFailsLeavesTheFileAsItWas) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    store_sample(connection);
  }
  const auto before = snapshot(directory.path());
  EXPECT_THROW(
      open_writer(path, with_extra("CREATE TABLE extra (id INTEGER); CREATE TABLE run (id)")),
      Error);
  EXPECT_TRUE(read_file(path) == before.at("a.db"));
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
}

TEST(Migrations, ReaderSaysHowToBringAnOlderFileUp) {
  const TemporaryDirectory directory;
  { open_writer(directory.file("a.db")); }
  try {
    open_reader(directory.file("a.db"), with_extra("SELECT 1"));
    ADD_FAILURE() << "an older file was opened for reading";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::older);
    EXPECT_NE(std::string(error.what()).find("moe-db check --fix"), std::string::npos);
  }
}

// What version 5 wrote: a trial with a prediction, a fit, and a measurement of interference.
const char* const version_5_rows = R"sql(
INSERT INTO machine VALUES (1, 'm', 'node0', '', '', 1, 1, '', 0, '');
INSERT INTO schedule VALUES (1, 'h', 'tutel', '{"planner":"tutel"}', '');
INSERT INTO run (id, machine_id, kind, name, status, error, started_at, heartbeat_at, pid, revision, argv_json,
                 environment_json, device, ranks, model_json, cluster_json, seed)
  VALUES (1, 1, 'bench', 'interference', 'done', '', 1, 2, 1, '', '', '', 'cpu', 2, '', '', 0);
INSERT INTO study (id, name, model_json, cluster_json, settings_json, ranks, created_at)
  VALUES (1, 'first', '', '', '', 2, 1);
INSERT INTO trial (id, study_id, schedule_id, planner, parameters_json, status, error, predicted_s, heartbeat_at)
  VALUES (1, 1, 1, 'tutel', '', 'planned', '', 0.5, 1);
INSERT INTO fit VALUES (1, 1, 'gemm', 'cpu', 1, '', 1e-6, 1e-11, 'flop', 0.9, 12, 1, 2, 0.1);
INSERT INTO measurement VALUES (1, 1, 'interference', 'cpu', 'f32', 2,
  '{"activity":"copy","beside":"computation","alone_s":0.25,"overlap":0.98}', 4096, 512, 0, 0.5, 0.4, 0.6, 10, 0, 0, 0);
INSERT INTO measurement VALUES (2, 1, 'host_copy', 'cpu', 'u64', 2, '{}', 4096, 512, 0, 0.5, 0.4, 0.6, 10, 0, 0, 0);
)sql";

TEST(Migrations, OfVersionFiveKeepFitsAndTrialsWhosePrecisionIsNotKnown) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  OpenOptions fifth;
  fifth.migrations.resize(5);
  open_writer(path, fifth).database().exec(version_5_rows);
  const auto connection = open_writer(path);
  EXPECT_TRUE(find_problems(connection, 1e12).empty());
  const Trial trial = load_trials(connection, 1).at(0);
  EXPECT_EQ(trial.predicted_s, 0.5);
  EXPECT_FALSE(trial.predicted_deviation_s);
  const Fit fit = load_latest_fits(connection).at(0);
  EXPECT_EQ(fit.max_relative_residual, 0.1);
  EXPECT_FALSE(fit.relative_deviation);
  SQLite::Statement speeds(
      connection.database(),
      "SELECT activity, beside, speed, overlap, alone_s, time_s, ranks, wrong, run, wakes_per_s "
      "FROM interference_view");
  ASSERT_TRUE(speeds.executeStep());
  EXPECT_EQ(speeds.getColumn(0).getString(), "copy");
  EXPECT_EQ(speeds.getColumn(1).getString(), "computation");
  EXPECT_EQ(speeds.getColumn(2).getDouble(), 0.5);
  EXPECT_EQ(speeds.getColumn(3).getDouble(), 0.98);
  EXPECT_TRUE(speeds.getColumn(9).isNull()) << "nobody counted";
  EXPECT_FALSE(speeds.executeStep()) << "other measurements are none of interference";
}

}  // namespace
}  // namespace db
