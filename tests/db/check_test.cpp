#include "db/check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "db/load.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::check_test {
namespace {

class Check : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);

  void expect_problem(const std::string& part) {
    const auto problems = find_problems(connection, 60);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find(part), std::string::npos) << problems[0];
  }
};

TEST_F(Check, SoundDatabaseHasNoProblems) { EXPECT_TRUE(find_problems(connection, 60).empty()); }

TEST_F(Check, FindsRunsThatWereKilledAndFixesThem) {
  db::Run run = sample_run(sample.machine);
  run.started_at = now() - 1e6;
  const auto id = insert(connection, run);
  expect_problem("run 2 (train tiny) says it is running, but its last sign of life is ");
  expect_problem(" s old: --fix marks it killed");
  EXPECT_EQ(fix_stale(connection, 60).killed_runs, 1);
  EXPECT_EQ(load_run(connection, id).status, "killed");
  EXPECT_TRUE(find_problems(connection, 60).empty());
}

TEST_F(Check, FindsTrialsThatWereKilledAndRequeuesThem) {
  const auto id = find_or_insert(connection, sample_trial(connection, sample.study, "lina"));
  claim_trial(connection, id);
  connection.database().exec("UPDATE trial SET heartbeat_at = 0 WHERE status = 'running'");
  expect_problem("trial 4 (sample study, lina) says it is running");
  EXPECT_EQ(fix_stale(connection, 60).requeued_trials, 1);
  EXPECT_EQ(load_trials(connection, sample.study).back().status, "planned");
}

TEST_F(Check, FindsTimelinesWithoutSpans) {
  connection.database().exec("DELETE FROM span WHERE timeline_id = 2");
  expect_problem("timeline 2 (predicted) has no spans");
}

TEST_F(Check, FindsSpansWithoutTheirOp) {
  connection.database().exec(
      "DELETE FROM timeline WHERE id = 2; DELETE FROM program_op WHERE op = 2");
  expect_problem("timeline 1 has 2 spans of ops it does not describe, the first is op 2");
}

TEST_F(Check, FindsStudiesWhoseProfileRunsAreGone) {
  connection.database().exec("UPDATE study SET profile_runs_json = '[1]'");
  EXPECT_TRUE(find_problems(connection, 60).empty());
  connection.database().exec("UPDATE study SET profile_runs_json = '[1, 99]'");
  expect_problem("study sample study was profiled by run 99, which does not exist");
}

TEST_F(Check, FindsStudiesWhoseRefinementRunsAreGone) {
  connection.database().exec("UPDATE study SET refinement_runs_json = '[[1], [1, 1]]'");
  EXPECT_TRUE(find_problems(connection, 60).empty());
  connection.database().exec("UPDATE study SET refinement_runs_json = '[[1], [1, 99]]'");
  expect_problem("study sample study was refined by run 99, which does not exist");
}

TEST_F(Check, FindsIterationsThatATrainingHasNoRowsOf) {
  const auto add = [this](int first, int last, std::optional<std::int64_t> resumes) {
    db::Run run = sample_run(sample.machine);
    run.status = "done";
    run.started_at = 100;
    run.finished_at = 200;
    run.resumes_run_id = resumes;
    const auto id = insert(connection, run);
    std::vector<Iteration> rows;
    for (int i = first; i <= last; ++i) {
      rows.emplace_back().run_id = id;
      rows.back().iteration = i;
    }
    insert(connection, rows);
    return id;
  };
  const auto early = add(21, 29, std::nullopt);  // goes on from a run in another file
  const auto late = add(25, 34, early);          // repeats what no checkpoint had
  EXPECT_TRUE(find_problems(connection, 60).empty());
  connection.database().exec(
      fmt::format("DELETE FROM iteration WHERE run_id = {} AND iteration IN (28, 29, 32)", late));
  expect_problem(fmt::format("run {} has no rows of iterations 28 to 29, 3 missing in all", late));
  connection.database().exec(fmt::format(
      "DELETE FROM iteration WHERE run_id = {} OR run_id = {} AND iteration > 27", early, late));
  const auto lost = find_problems(connection, 60);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0], fmt::format("run {} (train tiny) is done and has no iteration", early));
  EXPECT_EQ(lost[1], fmt::format("run {} goes on with iteration 25 from run {}, which has no rows",
                                 late, early));
  connection.database().exec(fmt::format("DELETE FROM run WHERE id IN ({}, {})", early, late));
  const auto one = add(1, 7, std::nullopt), two = add(9, 12, one);
  expect_problem(fmt::format(
      "run {} goes on with iteration 9 from run {}, whose rows end with 7: no run has rows of "
      "iteration 8",
      two, one));
}

TEST_F(Check, FindsTimesThatNoProgramStores) {
  const auto id = insert(connection, sample_run(sample.machine));
  EXPECT_TRUE(find_problems(connection, 60).empty());
  connection.database().exec(
      fmt::format("UPDATE run SET heartbeat_at = {} WHERE id = {}", now() + 1000, id));
  expect_problem("s ahead of this computer's clock: --fix marks it killed");
  EXPECT_EQ(fix_stale(connection, 60).killed_runs, 1);
  EXPECT_TRUE(find_problems(connection, 60).empty());
  connection.database().exec(
      fmt::format("UPDATE run SET finished_at = started_at - 2 WHERE id = {}", id));
  expect_problem(fmt::format("run {} (train tiny) ends 2.000 s before it begins", id));
}

TEST_F(Check, FindsActivitiesThatDoNotExist) {
  connection.database().exec(
      "PRAGMA ignore_check_constraints = ON;"
      "UPDATE program_op SET activity = 'sleep' WHERE op = 2;"
      "PRAGMA ignore_check_constraints = OFF");
  expect_problem("CHECK constraint failed in program_op");
}

TEST_F(Check, FindsReferencesToNothing) {
  connection.database().exec("PRAGMA foreign_keys = OFF; UPDATE fit SET run_id = 99");
  expect_problem("fit row 1 refers to a row of run that does not exist");
}

TEST_F(Check, FindsTablesThatSomebodyChanged) {
  connection.database().exec("DROP INDEX fit_by_run");
  expect_problem("index fit_by_run is missing");
  connection.database().exec(
      "CREATE INDEX fit_by_run ON fit (run_id); ALTER TABLE fit RENAME COLUMN r2 TO r");
  expect_problem("table fit has no column r2");
}

TEST(CheckFile, FindsADamagedPage) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  std::size_t page = 0;
  {
    auto connection = open_writer(path);
    store_sample(connection);
    SQLite::Statement root(connection.database(),
                           "SELECT rootpage FROM sqlite_schema WHERE name = 'span'");
    ASSERT_TRUE(root.executeStep());
    page = static_cast<std::size_t>(root.getColumn(0).getInt64());
  }
  auto bytes = read_file(path);
  bytes.replace((page - 1) * 4096, 64, std::string(64, '\x7f'));
  write_file(path, bytes);
  {
    const auto connection = open_reader(path);
    try {
      require_sound(connection);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::gone);
      EXPECT_NE(std::string(error.what()).find("was damaged"), std::string::npos) << error.what();
    }
  }
  const auto problems = find_problems(open_reader(path), 60);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("damaged"), std::string::npos) << problems[0];
  EXPECT_TRUE(read_file(path) == bytes);
}

TEST(CheckFile, ARunIsNotDoneWhereItsDatabaseWasOverwritten) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  auto connection = open_writer(path);
  const Sample sample = store_sample(connection);
  EXPECT_NO_THROW(finish_run(connection, sample.run, "done"));
  connection.database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    const std::string zeros(8 * 4096, '\0');
    file.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
  }
  EXPECT_THROW(finish_run(connection, sample.run, "done"), Error);
}

}  // namespace
}  // namespace db::check_test
