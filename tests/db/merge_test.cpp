#include "db/merge.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <utility>

#include "db/check.h"
#include "db/file_identity.h"
#include "db/load.h"
#include "db/run_chain.h"
#include "tests/db/full_sample.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::merge_test {
namespace {

/// A file with the sample, whose runs began at `started_at`, and two runs more.
std::string write_sample(const TemporaryDirectory& directory, const std::string& name,
                         double started_at) {
  auto connection = open_writer(directory.file(name));
  store_full_sample(connection);
  for (int i = 1; i <= 2; ++i) insert(connection, sample_run(1));
  connection.database().exec(
      "UPDATE run SET resumes_run_id = 2 WHERE id = 3;"
      "UPDATE run SET pid = id, started_at = " +
      std::to_string(started_at) +
      ";"
      "UPDATE study SET profile_runs_json = '[1,3]', "
      "refinement_runs_json = '[[1],[1,2]]'");
  return connection.path();
}

std::string text(const Connection& connection, const std::string& sql) {
  SQLite::Statement statement(connection.database(), sql);
  return statement.executeStep() ? statement.getColumn(0).getString() : "";
}

class Merge : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string first = write_sample(directory, "a.db", 1000);
  std::string second = write_sample(directory, "b.db", 2000);
  std::string output = directory.file("all.db");
};

TEST_F(Merge, EveryRowIsThereAndRefersToItsOwn) {
  const std::vector<Merged> merged = merge_files({first, second}, output);
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[1].runs, 3);
  EXPECT_EQ(merged[1].new_runs, 3);
  EXPECT_EQ(merged[1].timelines, 3);
  const auto connection = open_reader(output);
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
  const auto one = open_reader(first);
  const std::set<std::string> shared{
      "file_identity", "machine",       "schedule",       "program",     "program_op",
      "program_edge",  "program_group", "program_tensor", "memory_plan", "planned_tensor"};
  const auto of_one = rows_by_table(one), of_both = rows_by_table(connection);
  ASSERT_EQ(of_one.size(), of_both.size());
  for (std::size_t i = 0; i < of_one.size(); ++i) {
    const auto& [table, rows] = of_one[i];
    EXPECT_GT(rows, 0) << table << ": full_sample.h has a row of every table";
    EXPECT_EQ(of_both[i].second, (shared.contains(table) ? 1 : 2) * rows) << table;
  }
  for (const std::int64_t timeline : {3, 6}) {
    EXPECT_EQ(load_op_edges(connection, timeline).size(), 2U);
    EXPECT_EQ(load_timeline_memory(connection, timeline).allocations.size(), 4U);
  }
  EXPECT_EQ(text(connection, "SELECT group_concat(id || ':' || resumes_run_id) FROM run"),
            "3:2,6:5");
  EXPECT_EQ(text(connection,
                 "SELECT profile_runs_json || refinement_runs_json FROM study "
                 "WHERE id = 2"),
            "[4,6][[4],[4,5]]");
  EXPECT_EQ(text(connection,
                 "SELECT count(*) FROM trial_repeat JOIN run ON run.id = run_id "
                 "WHERE trial_id > 3 AND started_at = 2000"),
            "2");
  EXPECT_EQ(load_spans(connection, 4).size(), load_spans(one, 1).size());
  EXPECT_NE(file_identity(connection), file_identity(one));
}

TEST_F(Merge, AStudyWhoseNameIsTakenIsRenamed) {
  const std::vector<Merged> merged = merge_files({first, second}, output);
  EXPECT_TRUE(merged[0].renamed.empty());
  ASSERT_EQ(merged[1].renamed.size(), 1U);
  EXPECT_EQ(merged[1].renamed[0].second, "sample study (b)");
  EXPECT_TRUE(find_study(open_reader(output), "sample study (b)"));
}

TEST_F(Merge, WhatIsCalledAsTheStudyIsRenamedWithIt) {
  for (const std::string& path : {first, second}) {
    auto connection = open_writer(path);
    connection.database().exec(
        "UPDATE run SET kind = 'study', name = 'sample study' WHERE id = 2;"
        "UPDATE run SET name = 'sample study' WHERE id = 3");
  }
  merge_files({first, second}, output);
  EXPECT_EQ(text(open_reader(output), "SELECT group_concat(name, ', ') FROM run WHERE id > 4"),
            "sample study (b), sample study");
}

TEST_F(Merge, ARenamedStudyGetsANameThatNoneHas) {
  {
    auto connection = open_writer(second);
    Study study;
    study.name = "sample study (b)";
    insert(connection, study);
  }
  const std::vector<Merged> merged = merge_files({first, second}, output);
  ASSERT_EQ(merged[1].renamed.size(), 1U);
  EXPECT_EQ(merged[1].renamed[0].second, "sample study (b 2)");
}

TEST_F(Merge, WhatAMicroProfileIsOfIsFound) {
  {
    auto connection = open_writer(second);
    connection.database().exec(
        "UPDATE measurement SET parameters_json = '{\"study\":\"sample study\","
        "\"schedule\":3,\"run\":2,\"planner\":\"mpmoe\"}'");
  }
  {
    auto connection = open_writer(first);
    Schedule more;
    more.json = R"({"decisions":"more"})";
    find_or_insert(connection, more);
  }
  merge_files({first, second}, output);
  EXPECT_EQ(text(open_reader(output), "SELECT parameters_json FROM measurement WHERE id = 2"),
            R"json({"planner":"mpmoe","run":5,"schedule":3,"study":"sample study (b)"})json");
}

TEST_F(Merge, ACopyIsRefusedAndNothingIsLeft) {
  const auto before = snapshot(directory.path());
  std::filesystem::copy_file(first, directory.file("copy.db"));
  EXPECT_EQ(kind_of([&] {
              merge_files({first, directory.file("copy.db")}, output);
            }),
            ErrorKind::invalid);
  std::filesystem::remove(directory.file("copy.db"));
  EXPECT_EQ(kind_of([&] { merge_files({first, first}, output); }), ErrorKind::invalid);
  EXPECT_EQ(kind_of([&] {
              merge_files({first, directory.file("none.db")}, output);
            }),
            ErrorKind::not_found);
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

TEST_F(Merge, AFileThatIsThereStaysAsItIs) {
  const auto before = snapshot(directory.path());
  EXPECT_EQ(kind_of([&] { merge_files({first}, second); }), ErrorKind::invalid);
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

/// Stores another run with an iteration in a file when the first run of it is copied.
struct Writer {
  std::string path;
  bool has_written = false;

  static void at_row(void* self, int, const char*, const char* table, sqlite3_int64) {
    auto& writer = *static_cast<Writer*>(self);
    if (std::string(table) != "run" || std::exchange(writer.has_written, true)) return;
    auto connection = open_writer(writer.path);
    std::vector<Iteration> iterations(1);
    iterations[0].run_id = insert(connection, sample_run(1));
    insert(connection, iterations);
  }
};

TEST_F(Merge, AFileThatIsWrittenGivesItsRowsOfOneMoment) {
  auto into = open_writer(first);
  Writer writer{second};
  sqlite3_update_hook(into.handle(), &Writer::at_row, &writer);
  const Merged merged = merge_from(into, second);
  EXPECT_TRUE(writer.has_written);
  EXPECT_EQ(merged.runs, 3);
  EXPECT_EQ(load_runs(open_reader(second)).size(), 4U);
  EXPECT_TRUE(find_problems(into, 1e9).empty());
}

TEST_F(Merge, RowsAreAddedToADatabaseAllOrNone) {
  auto into = open_writer(first);
  EXPECT_EQ(merge_from(into, second).studies, 1);
  EXPECT_EQ(load_studies(into).size(), 2U);
  EXPECT_EQ(kind_of([&] { merge_from(into, second); }), ErrorKind::invalid);
  EXPECT_EQ(load_studies(into).size(), 2U);
  EXPECT_TRUE(find_problems(into, 1e9).empty());
}

}  // namespace
}  // namespace db::merge_test
