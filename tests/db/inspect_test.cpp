#include "db/inspect.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "db/check.h"
#include "db/connection.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::inspect_test {
namespace {

// Neither opening for reading nor for writing may leave a trace.
void expect_refused(const TemporaryDirectory& directory, const std::string& path, ErrorKind kind) {
  const auto before = snapshot(directory.path());
  EXPECT_EQ(kind_of([&] { open_reader(path); }), kind);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), kind);
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

void run_sql(const std::string& path, const std::string& sql) {
  SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

TEST(Inspect, RefusesAFileThatIsNotSqlites) {
  const TemporaryDirectory directory;
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{99}, std::size_t{100000}}) {
    const auto path = directory.file("text" + std::to_string(bytes));
    write_file(path, std::string(bytes, 'x'));
    expect_refused(directory, path, ErrorKind::not_a_database);
  }
}

TEST(Inspect, RefusesAnotherProgramsDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  run_sql(path, "CREATE TABLE photo (id INTEGER)");
  expect_refused(directory, path, ErrorKind::not_moelab);
}

TEST(Inspect, RefusesAnotherProgramsWalDatabaseWithoutMakingLogFiles) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  run_sql(path, "PRAGMA journal_mode = WAL; CREATE TABLE photo (id INTEGER)");
  ASSERT_EQ(snapshot(directory.path()).size(), 1U);
  expect_refused(directory, path, ErrorKind::not_moelab);
}

TEST(Inspect, RefusesAnotherProgramsLiveWalDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  SQLite::Database other(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("PRAGMA journal_mode = WAL; CREATE TABLE photo (id INTEGER)");
  EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::not_moelab);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::not_moelab);
}

TEST(Inspect, RefusesANewerDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("newer.db");
  fill(path);
  run_sql(path, "PRAGMA user_version = 99");
  expect_refused(directory, path, ErrorKind::newer);
}

TEST(Inspect, RefusesADatabaseWhoseNewerVersionIsStillInTheLog) {
  const TemporaryDirectory directory;
  const auto path = directory.file("newer.db");
  fill(path);
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  other.exec("PRAGMA user_version = 99");
  const auto file = read_file(path), log = read_file(path + "-wal");
  EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::newer);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::newer);
  EXPECT_TRUE(read_file(path) == file);
  EXPECT_TRUE(read_file(path + "-wal") == log);
}

TEST(Inspect, RefusesATruncatedFile) {
  const TemporaryDirectory directory;
  const auto path = directory.file("short.db");
  fill(path);
  const auto bytes = std::filesystem::file_size(path);
  for (const auto kept : {bytes - 1, bytes - 4096, bytes / 2, std::uintmax_t{4096}}) {
    SCOPED_TRACE(kept);
    std::filesystem::resize_file(path, kept);
    expect_refused(directory, path, ErrorKind::corrupt);
  }
}

TEST(Inspect, RefusesADamagedTableOfTables) {
  const TemporaryDirectory directory;
  const auto path = directory.file("damaged.db");
  fill(path);
  auto bytes = read_file(path);
  bytes.replace(100, 900, std::string(900, '\x55'));
  write_file(path, bytes);
  expect_refused(directory, path, ErrorKind::corrupt);
}

/// A copy, as `path`, of a database in the middle of a transaction, with its rollback journal: what
/// a program leaves that was killed there. `before` is carried out first, and committed.
void leave_cut(const std::string& path, const std::string& before) {
  const TemporaryDirectory elsewhere;
  SQLite::Database database(elsewhere.file("a.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(before);
  database.exec(
      "PRAGMA cache_size = 1; BEGIN; CREATE TABLE IF NOT EXISTS photo (text);"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)"
      "INSERT INTO photo SELECT hex(randomblob(100)) FROM n");
  std::filesystem::copy_file(elsewhere.file("a.db"), path);
  std::filesystem::copy_file(elsewhere.file("a.db-journal"), path + "-journal");
}

TEST(Inspect, ANewDatabaseWhoseFirstTransactionWasCutIsTakenUpAgain) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  leave_cut(path, "");
  ASSERT_GT(std::filesystem::file_size(path), 0U);
  const auto before = snapshot(directory.path());
  try {
    open_reader(path);
    ADD_FAILURE() << "a reader undid it";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("moe-db check --fix"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(snapshot(directory.path()) == before);
  fill(path);
  EXPECT_TRUE(find_problems(open_reader(path), 1e9).empty());
}

TEST(Inspect, OwnDatabasesWhoseTransactionWasCutAreTakenUpAgain) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  leave_cut(path, current_schema().tables + current_schema().views +
                      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}",
                                  current_schema().version, kApplicationId));
  fill(path);
  EXPECT_TRUE(find_problems(open_reader(path), 1e9).empty());
}

TEST(Inspect, AnotherProgramsDatabaseWhoseTransactionWasCutIsLeftAlone) {
  const TemporaryDirectory directory;
  leave_cut(directory.file("a.db"), "CREATE TABLE photo (text)");
  const auto before = snapshot(directory.path());
  for (const bool writing : {false, true}) {
    EXPECT_THROW(
        writing ? open_writer(directory.file("a.db")) : open_reader(directory.file("a.db")), Error);
  }
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

}  // namespace
}  // namespace db::inspect_test
