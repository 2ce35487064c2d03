#include "db/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "db/check.h"
#include "db/connection.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/store.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::schema_test {
namespace {

/// The schema with `line` among the columns of the table `fit`, which is in no view.
Schema with_column(const std::string& line) {
  Schema schema = current_schema();
  const std::string before = "  r2 REAL NOT NULL,\n";
  const std::size_t at = schema.tables.find(before);
  EXPECT_NE(at, std::string::npos);
  schema.tables.insert(at, line + "\n");
  return schema;
}

Schema with_view(const std::string& sql) {
  Schema schema = current_schema();
  schema.views += sql;
  return schema;
}

std::string text(const Connection& connection, const std::string& sql) {
  SQLite::Statement statement(connection.database(), sql);
  return statement.executeStep() ? statement.getColumn(0).getString() : "";
}

class SchemaFile : public testing::Test {
 protected:
  SchemaFile() {
    auto connection = open_writer(path);
    store_sample(connection);
  }

  TemporaryDirectory directory;
  std::string path = directory.file("a.db");
};

TEST_F(SchemaFile, AFileThatHasEverythingStaysByteForByte) {
  const auto before = read_file(path);
  { open_writer(path); }
  EXPECT_TRUE(read_file(path) == before);
}

TEST_F(SchemaFile, AColumnThatIsMissingIsAddedWithItsDefaultAndItsCheck) {
  const Schema schema =
      with_column("  mood TEXT NOT NULL DEFAULT 'fine' CHECK (mood IN ('fine', 'sad')),  -- new");
  const auto connection = open_writer(path, {.schema = &schema});
  EXPECT_EQ(text(connection, "SELECT mood FROM fit"), "fine");
  EXPECT_THROW(connection.database().exec("UPDATE fit SET mood = 'blue'"), SQLite::Exception);
  EXPECT_EQ(load_runs(connection).size(), 1U);
  EXPECT_NO_THROW(open_reader(path)) << "an earlier program goes on reading";
}

TEST_F(SchemaFile, AColumnThatNothingReadsAnyMoreStays) {
  const Schema former = with_column("  pace REAL,");
  { open_writer(path, {.schema = &former}).database().exec("UPDATE fit SET pace = 1.5"); }
  EXPECT_EQ(load_latest_fits(open_reader(path)).size(), 1U);
  auto connection = open_writer(path);
  Fit fit = load_latest_fits(connection).front();
  fit.id = 0;
  insert(connection, std::vector{fit});
  EXPECT_EQ(text(connection, "SELECT count(*) || ' ' || count(pace) FROM fit"), "2 1");
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

TEST_F(SchemaFile, TablesAndIndicesThatAreMissingAreAdded) {
  Schema schema = current_schema();
  schema.tables +=
      "CREATE TABLE extra (id INTEGER PRIMARY KEY, name TEXT) STRICT;\n"
      "CREATE INDEX extra_by_name ON extra (name);\n";
  const auto connection = open_writer(path, {.schema = &schema});
  EXPECT_TRUE(connection.database().tableExists("extra"));
  EXPECT_EQ(text(connection, "SELECT name FROM sqlite_schema WHERE name = 'extra_by_name'"),
            "extra_by_name");
}

TEST_F(SchemaFile, AColumnThatItsRowsNeedIsRefusedAndTheFileIsAsItWas) {
  const auto before = read_file(path);
  const Schema schema = with_column("  mood TEXT NOT NULL,");
  try {
    open_writer(path, {.schema = &schema});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::older);
    EXPECT_NE(std::string(error.what()).find("fit.mood"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
}

TEST_F(SchemaFile, AReaderSaysHowToBringAFileUpToDate) {
  const Schema schema = with_column("  mood TEXT,");
  try {
    open_reader(path, {.schema = &schema});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::older);
    EXPECT_NE(std::string(error.what()).find("moe-db check --fix"), std::string::npos);
  }
}

TEST_F(SchemaFile, ViewsThatDifferAreMadeAgainByAWriterAlone) {
  open_writer(path).database().exec(
      "DROP VIEW fit_view; DROP VIEW run_view; CREATE VIEW run_view AS SELECT 1 AS one;"
      "CREATE VIEW mine AS SELECT count(*) AS runs FROM run");
  const auto before = read_file(path);
  {
    const auto reader = open_reader(path);
    EXPECT_EQ(load_run_overviews(reader).size(), 1U) << "a reader brings its own";
    EXPECT_EQ(text(reader, "SELECT count(*) FROM fit_view"), "1");
    EXPECT_EQ(text(reader, "SELECT runs FROM mine"), "1");
    EXPECT_TRUE(find_problems(reader, 1e9).empty());
  }
  EXPECT_TRUE(read_file(path) == before);
  { open_writer(path); }
  SQLite::Database other(path, SQLite::OPEN_READONLY);  // as another program sees it
  EXPECT_EQ(other.execAndGet("SELECT name FROM run_view").getString(), "tiny");
  EXPECT_EQ(other.execAndGet("SELECT runs FROM mine").getInt(), 1);
}

TEST_F(SchemaFile, ANewViewIsMade) {
  const Schema schema = with_view("CREATE VIEW extra_view AS SELECT 7 AS seven;\n");
  EXPECT_EQ(text(open_reader(path, {.schema = &schema}), "SELECT seven FROM extra_view"), "7");
  EXPECT_EQ(text(open_writer(path, {.schema = &schema}), "SELECT seven FROM extra_view"), "7");
  EXPECT_EQ(text(open_reader(path), "SELECT seven FROM extra_view"), "7");
}

TEST_F(SchemaFile, AnOlderVersionIsRefusedWithAWord) {
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 6");
  const auto before = snapshot(directory.path());
  for (const bool writing : {false, true}) {
    try {
      writing ? open_writer(path) : open_reader(path);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::older);
      EXPECT_NE(
          std::string(error.what())
              .find("version 6, made by an older moelab, cannot be made version 8; only versions "
                    "from 7 on can"),
          std::string::npos)
          << error.what();
    }
  }
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

TEST_F(SchemaFile, RunsOfBeforeGetTheNetworkOfTheBoxTheyRanIn) {
  {
    auto connection = open_writer(path);
    for (const char* environment :
         {R"({"MOELAB_BOX_NIC_GBPS":"1.0"})", "{}", "",
          R"({"MOELAB_BOX_NIC_GBPS":"0.3","MOELAB_BOX_INTRA_GBPS":"4"})"}) {
      db::Run run = sample_run(1);
      run.environment_json = environment;
      insert(connection, run);
    }
    std::vector<std::string> views;  // no column can be dropped while one reads it
    SQLite::Statement names(connection.database(),
                            "SELECT name FROM sqlite_schema WHERE type = 'view'");
    while (names.executeStep()) views.push_back(names.getColumn(0).getString());
    names.reset();
    for (const std::string& view : views) connection.database().exec("DROP VIEW " + view);
    connection.database().exec(
        "ALTER TABLE run DROP COLUMN network; ALTER TABLE fit DROP COLUMN network");
  }
  testing::internal::CaptureStdout();
  auto connection = open_writer(path);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("adding what it lacks"), std::string::npos) << said;
  EXPECT_NE(said.find("filling run.network of 5 rows"), std::string::npos) << said;
  EXPECT_EQ(text(connection,
                 "SELECT group_concat(network, '; ') FROM (SELECT network FROM run "
                 "ORDER BY id)"),
            "; box 1 Gbit/s; ; ; box 0.3 Gbit/s, inside 4 Gbit/s");
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
  connection.database().exec("UPDATE run SET network = 'mine' WHERE id = 2");
  EXPECT_EQ(text(open_writer(path), "SELECT network FROM run WHERE id = 2"), "mine")
      << "filled once";
}

TEST_F(SchemaFile, FailuresOfEarlierTrialsAreFilledInByTheirStatus) {
  {
    auto connection = open_writer(path);
    for (const char* view : {"trial_view", "study_view"}) {
      connection.database().exec(std::string("DROP VIEW ") + view);
    }
    connection.database().exec("ALTER TABLE trial DROP COLUMN failure");
  }
  auto connection = open_writer(path);
  EXPECT_EQ(text(connection, "SELECT group_concat(failure, '; ') FROM trial"), "; ; out_of_memory");
}

TEST_F(SchemaFile, WhatGatesAskedForIsFilledInWhereLoadsAreStored) {
  {
    auto connection = open_writer(path);
    connection.database().exec(
        "DELETE FROM load; DELETE FROM balance;"
        "INSERT INTO load (run_id, iteration, layer, rank, expert, micro_batch, tokens, "
        "asked_tokens) VALUES (1, 0, 1, 0, 0, -1, 4, 7), (1, 0, 1, 1, 0, -1, 4, 6), "
        "(1, 0, 1, 0, 1, -1, 9, 9)");
    Balance row;
    row.run_id = 1;  // that of the sample
    row.layer = 1;
    row.experts = 2;
    row.tokens = 17;
    row.dropped_tokens = 5;
    std::vector<Balance> rows(2, row);
    rows[1].iteration = 1;  // its loads are not stored
    insert(connection, rows);
    connection.database().exec(
        "DROP VIEW balance_view; DROP VIEW iteration_view;"
        "ALTER TABLE balance DROP COLUMN max_asked_tokens");
  }
  auto connection = open_writer(path);
  EXPECT_EQ(text(connection,
                 "SELECT max_asked_tokens || ' ' || asked_tokens || ' ' || "
                 "round(asked_max_over_mean, 3) FROM balance_view WHERE iteration = 0"),
            "13 22 1.182");
  EXPECT_EQ(text(connection, "SELECT count(max_asked_tokens) FROM balance"), "1");
}

TEST_F(SchemaFile, HowManyBlocksAreWholeIsFilledInByTheSchedulesOfEarlierSearches) {
  {
    auto connection = open_writer(path);
    Schedule schedule;
    schedule.planner = "joint";
    schedule.json =
        R"({"decisions":[{"decision":"shard_optimizer"},
                         {"decision":"restore_block","layer":0,"communication":"repeat"},
                         {"decision":"restore_block","layer":1,"communication":"repeat"},
                         {"decision":"restore_block","layer":2,"dense":"recompute"}]})";
    PredictedSetup setup;
    setup.run_id = 1;
    setup.batch_per = "rank";
    setup.schedule_id = find_or_insert(connection, schedule);
    setup.restored_blocks = 3;
    PredictedSetup other = setup;
    other.place = 2;
    other.schedule_id = 1;
    other.restored_blocks = 0;
    insert(connection, std::vector{setup, other});
    connection.database().exec(
        "DROP VIEW setup_view; ALTER TABLE predicted_setup DROP COLUMN whole_blocks");
  }
  auto connection = open_writer(path);
  EXPECT_EQ(text(connection,
                 "SELECT group_concat(restored_blocks || ' ' || whole_blocks, '; ') FROM "
                 "(SELECT * FROM setup_view ORDER BY place)"),
            "3 2; 0 0");
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

TEST_F(SchemaFile, AColumnThatMayBeNullByNowTakesNull) {
  const Schema strict = [] {
    Schema schema = current_schema();
    const std::string loose = "  clock_offset_s REAL,\n  clock_error_s REAL CHECK";
    const std::size_t at = schema.tables.find(loose);
    EXPECT_NE(at, std::string::npos);
    schema.tables.replace(at, loose.size(),
                          "  clock_offset_s REAL NOT NULL,\n  clock_error_s REAL NOT NULL CHECK");
    return schema;
  }();
  const std::string former = directory.file("former.db");
  {
    auto connection = open_writer(former, {.schema = &strict});
    insert(connection, sample_run(find_or_insert(connection, sample_machine())));
    connection.database().exec(
        "INSERT INTO run_rank (run_id, rank, hostname, node, pid, clock_offset_s, clock_error_s, "
        "predicted_peak_bytes, measured_peak_bytes) VALUES (1, 0, 'n0', 0, 7, 0.5, 1e-6, 0, 0);"
        "CREATE VIEW mine AS SELECT clock_error_s FROM run_rank");
  }
  EXPECT_EQ(load_run_ranks(open_reader(former), 1).at(0).clock_error_s, 1e-6) << "as it is";
  EXPECT_TRUE(find_problems(open_reader(former), 1e9).empty());
  auto connection = open_writer(former);
  std::vector<RunRank> ranks = load_run_ranks(connection, 1);
  EXPECT_EQ(ranks.at(0).clock_offset_s, 0.5);
  EXPECT_EQ(ranks.at(0).clock_error_s, 1e-6);
  ranks[0].rank = 1;
  ranks[0].clock_offset_s.reset(), ranks[0].clock_error_s.reset();
  insert(connection, ranks);
  EXPECT_EQ(text(connection, "SELECT count(*) || ' ' || count(clock_error_s) FROM mine"), "2 1");
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

// What a program of the time of version 7 wrote: its columns in another order, other texts of
// views.
TEST_F(SchemaFile, ColumnsMayStandInAnotherOrder) {
  {
    auto connection = open_writer(path);
    connection.database().exec(
        "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON;"
        "DROP VIEW fit_view; ALTER TABLE fit RENAME TO old_fit;"
        "CREATE TABLE fit (id INTEGER PRIMARY KEY, relative_deviation REAL,"
        "  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, op TEXT NOT NULL,"
        "  device TEXT NOT NULL, ranks INTEGER NOT NULL, link TEXT NOT NULL,"
        "  alpha_s REAL NOT NULL, beta_s_per_unit REAL NOT NULL, unit TEXT NOT NULL,"
        "  r2 REAL NOT NULL, samples INTEGER NOT NULL, min_units REAL NOT NULL,"
        "  max_units REAL NOT NULL, max_relative_residual REAL NOT NULL) STRICT;"
        "INSERT INTO fit SELECT id, relative_deviation, run_id, op, device, ranks, link, alpha_s,"
        "  beta_s_per_unit, unit, r2, samples, min_units, max_units, max_relative_residual"
        "  FROM old_fit;"
        "DROP TABLE old_fit");
  }
  const auto connection = open_writer(path);
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
  EXPECT_EQ(load_latest_fits(connection).size(), 1U);
}

}  // namespace
}  // namespace db::schema_test
