#include "db/connection.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

#include "db/check.h"
#include "db/load.h"
#include "db/query.h"
#include "db/transaction.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::connection_test {
namespace {

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind;
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::sql;
}

// Neither opening for reading nor for writing may leave a trace.
void expect_refused(const TemporaryDirectory& directory, const std::string& path, ErrorKind kind) {
  const auto before = snapshot(directory.path());
  EXPECT_EQ(kind_of([&] { open_reader(path); }), kind);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), kind);
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

void fill(const std::string& path) {
  auto connection = open_writer(path);
  store_sample(connection);
}

void run_sql(const std::string& path, const std::string& sql) {
  SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

std::string text_pragma(const Connection& connection, const std::string& name) {
  SQLite::Statement statement(connection.database(), "PRAGMA " + name);
  statement.executeStep();
  return statement.getColumn(0).getString();
}

/// Processes at once, each of which carries out its turn; expects all of them to come through.
void in_processes(int count, const std::function<void(int turn)>& work) {
  std::vector<pid_t> children;
  for (int turn = 0; turn < count; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        work(turn);
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Connection, CreatesAWalDatabaseThatNamesMoelab) {
  const TemporaryDirectory directory;
  const auto connection = open_writer(directory.file("new.db"));
  EXPECT_EQ(text_pragma(connection, "journal_mode"), "wal");
  EXPECT_EQ(text_pragma(connection, "synchronous"), "1");
  EXPECT_EQ(text_pragma(connection, "foreign_keys"), "1");
  EXPECT_EQ(text_pragma(connection, "application_id"), std::to_string(kApplicationId));
  EXPECT_EQ(text_pragma(connection, "user_version"), std::to_string(current_schema().version));
}

TEST(Connection, HeaderNamesMoelabBeforeAnythingIsCheckpointed) {
  const TemporaryDirectory directory;
  const auto connection = open_writer(directory.file("new.db"));
  EXPECT_EQ(read_file(connection.path()).substr(68, 4), "moel");
}

TEST(Connection, OpensInMemory) {
  auto connection = open_writer(":memory:");
  EXPECT_NO_THROW(store_sample(connection));
}

TEST(Connection, TakesAnEmptyFileForANewDatabase) {
  const TemporaryDirectory directory;
  write_file(directory.file("empty.db"), "");
  EXPECT_NO_THROW(fill(directory.file("empty.db")));
  EXPECT_EQ(load_runs(open_reader(directory.file("empty.db"))).size(), 1U);
}

TEST(Connection, OpensNamesThatAUriWouldMisread) {
  const TemporaryDirectory directory;
  const auto path = directory.file("50% of a?b#c &d.db");
  fill(path);
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Connection, ReaderRefusesWhatIsNotThere) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_reader(directory.file("none.db")); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { open_writer(directory.file("none/a.db")); }), ErrorKind::not_found);
  EXPECT_TRUE(snapshot(directory.path()).empty());
}

TEST(Connection, RefusesADirectory) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_reader(directory.path()); }), ErrorKind::not_a_database);
  EXPECT_EQ(kind_of([&] { open_writer(directory.path()); }), ErrorKind::not_a_database);
}

TEST(Connection, RefusesPipesAndDevicesWithoutReadingThem) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo(directory.file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", directory.file("link"));
  for (const std::string& path : {directory.file("pipe"), directory.file("link"),
                                  std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::not_a_database) << path;
    EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::not_a_database) << path;
  }
}

TEST(Connection, AWriterThatMayNotCreateSaysNoSuchFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_writer(directory.file("a.db"), {.create = false}); }),
            ErrorKind::not_found);
  EXPECT_TRUE(snapshot(directory.path()).empty());
  fill(directory.file("a.db"));
  EXPECT_NO_THROW(open_writer(directory.file("a.db"), {.create = false}));
}

TEST(Connection, WritingToADatabaseThatWasDeletedIsAnError) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  auto connection = open_writer(path);
  const auto run = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  std::filesystem::remove(path);
  EXPECT_EQ(kind_of([&] { heartbeat_run(connection, run); }), ErrorKind::gone);
}

TEST(Connection, WritingToADatabaseThatWasReplacedIsAnErrorAndLeavesTheOther) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    const auto run = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    fill(path);
    EXPECT_EQ(kind_of([&] { finish_run(connection, run, "done"); }), ErrorKind::gone);
  }
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
}

TEST(Connection, AGoodDatabaseMovedOverOneThatIsWrittenStaysGood) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db"), good = directory.file("good.db");
  fill(good);
  const auto bytes = read_file(good);
  {
    auto connection = open_writer(path);
    const auto run = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
    std::filesystem::rename(good, path);
    EXPECT_EQ(kind_of([&] { heartbeat_run(connection, run); }), ErrorKind::gone);
    EXPECT_EQ(kind_of([&] { finish_run(connection, run, "failed"); }), ErrorKind::gone);
    EXPECT_EQ(snapshot(directory.path()).size(), 1U) << "the log of the former file is still there";
  }
  EXPECT_TRUE(read_file(path) == bytes);
  auto connection = open_writer(path);
  heartbeat_run(connection, 1);
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
  EXPECT_EQ(load_runs(connection).size(), 1U);
}

TEST(Connection, ALogThatAnotherProcessHasOpenIsNamedAndStays) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db"), good = directory.file("good.db");
  fill(good);
  fill(path);
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready) + pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(done[1]);
    const auto reader = open_reader(path);
    char byte = load_runs(reader).size() == 1 ? 'x' : '-';
    const bool told = write(ready[1], &byte, 1) == 1;
    _exit(told && read(done[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  auto connection = open_writer(path);
  heartbeat_run(connection, 1);
  std::filesystem::rename(good, path);
  try {
    heartbeat_run(connection, 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a.db-shm belong to the former file"),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(path + "-wal"));
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
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

TEST(Connection, ANewDatabaseWhoseFirstTransactionWasCutIsTakenUpAgain) {
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

TEST(Connection, OwnDatabasesWhoseTransactionWasCutAreTakenUpAgain) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  leave_cut(path, current_schema().tables + current_schema().views +
                      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}",
                                  current_schema().version, kApplicationId));
  fill(path);
  EXPECT_TRUE(find_problems(open_reader(path), 1e9).empty());
}

TEST(Connection, AnotherProgramsDatabaseWhoseTransactionWasCutIsLeftAlone) {
  const TemporaryDirectory directory;
  leave_cut(directory.file("a.db"), "CREATE TABLE photo (text)");
  const auto before = snapshot(directory.path());
  for (const bool writing : {false, true}) {
    EXPECT_THROW(
        writing ? open_writer(directory.file("a.db")) : open_reader(directory.file("a.db")), Error);
  }
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

TEST(Connection, ADashIsNoName) {
  EXPECT_EQ(kind_of([] { open_writer("-"); }), ErrorKind::invalid);
  EXPECT_EQ(kind_of([] { open_reader("-"); }), ErrorKind::invalid);
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(Connection, ReaderRefusesAnEmptyFile) {
  const TemporaryDirectory directory;
  write_file(directory.file("empty.db"), "");
  EXPECT_EQ(kind_of([&] { open_reader(directory.file("empty.db")); }), ErrorKind::not_moelab);
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);
}

TEST(Connection, RefusesAFileThatIsNotSqlites) {
  const TemporaryDirectory directory;
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{99}, std::size_t{100000}}) {
    const auto path = directory.file("text" + std::to_string(bytes));
    write_file(path, std::string(bytes, 'x'));
    expect_refused(directory, path, ErrorKind::not_a_database);
  }
}

TEST(Connection, RefusesAnotherProgramsDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  run_sql(path, "CREATE TABLE photo (id INTEGER)");
  expect_refused(directory, path, ErrorKind::not_moelab);
}

TEST(Connection, RefusesAnotherProgramsWalDatabaseWithoutMakingLogFiles) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  run_sql(path, "PRAGMA journal_mode = WAL; CREATE TABLE photo (id INTEGER)");
  ASSERT_EQ(snapshot(directory.path()).size(), 1U);
  expect_refused(directory, path, ErrorKind::not_moelab);
}

TEST(Connection, RefusesAnotherProgramsLiveWalDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("other.db");
  SQLite::Database other(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("PRAGMA journal_mode = WAL; CREATE TABLE photo (id INTEGER)");
  EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::not_moelab);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::not_moelab);
}

TEST(Connection, RefusesANewerDatabase) {
  const TemporaryDirectory directory;
  const auto path = directory.file("newer.db");
  fill(path);
  run_sql(path, "PRAGMA user_version = 99");
  expect_refused(directory, path, ErrorKind::newer);
}

TEST(Connection, RefusesADatabaseWhoseNewerVersionIsStillInTheLog) {
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

TEST(Connection, RefusesATruncatedFile) {
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

TEST(Connection, RefusesADamagedTableOfTables) {
  const TemporaryDirectory directory;
  const auto path = directory.file("damaged.db");
  fill(path);
  auto bytes = read_file(path);
  bytes.replace(100, 900, std::string(900, '\x55'));
  write_file(path, bytes);
  expect_refused(directory, path, ErrorKind::corrupt);
}

TEST(Connection, ReadsFromAReadOnlyDiskAndRefusesToWriteThere) {
  const SmallDisk disk(4096);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  ASSERT_TRUE(disk.make_read_only());
  const auto before = snapshot(disk.path());
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  EXPECT_EQ(kind_of([&] { open_writer(disk.file("b.db")); }), ErrorKind::read_only);
  EXPECT_TRUE(snapshot(disk.path()) == before);
}

TEST(Connection, RefusesAReadOnlyFileOrDirectoryOfAnotherUser) {
  if (geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0500));
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0700));
}

TEST(Connection, DoesNotHideRowsThatAReadOnlyDiskKeepsInTheLog) {
  const SmallDisk disk(4096);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const TemporaryDirectory directory;
  auto writer = open_writer(directory.file("a.db"));
  store_sample(writer);
  std::filesystem::copy_file(writer.path(), disk.file("a.db"));
  std::filesystem::copy_file(writer.path() + "-wal", disk.file("a.db-wal"));
  ASSERT_TRUE(disk.make_read_only());
  try {
    EXPECT_EQ(load_runs(open_reader(disk.file("a.db"))).size(), 1U);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::read_only);
    EXPECT_NE(std::string(error.what()).find("a.db-wal"), std::string::npos) << error.what();
  }
}

TEST(Connection, FullDiskIsAnErrorThatStoresNothing) {
  const SmallDisk disk(1024);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  {
    auto connection = open_writer(path);
    Timeline timeline;
    timeline.run_id = 1;
    timeline.kind = "measured";
    std::vector<Span> spans;
    for (int i = 0; i < 100000; ++i) spans.push_back(make_span(0, 0, i, 1));
    EXPECT_EQ(kind_of([&] { insert(connection, timeline, sample_ops(), spans); }),
              ErrorKind::disk_full);
    EXPECT_EQ(load_timelines(connection).size(), 2U);
    EXPECT_NO_THROW(heartbeat_run(connection, 1));  // the connection goes on
  }
  const auto connection = open_reader(path);
  EXPECT_TRUE(find_problems(connection, 60).empty());
  EXPECT_EQ(load_timelines(connection).size(), 2U);
}

TEST(Connection, FullDiskLeavesTheFileByteForByte) {
  const SmallDisk disk(1024);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  write_file(disk.file("ballast"), std::string(2 << 20, 'x'));
  const auto before = read_file(path);
  EXPECT_EQ(kind_of([&] {
              auto connection = open_writer(path);
              heartbeat_run(connection, 1);
            }),
            ErrorKind::disk_full);
  EXPECT_EQ(kind_of([&] { open_writer(disk.file("new.db")); }), ErrorKind::disk_full);
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_FALSE(std::filesystem::exists(disk.file("new.db")));
}

TEST(Connection, PageLimitIsAFullDiskToo) {
  auto connection = open_writer(":memory:");
  const auto sample = store_sample(connection);
  connection.database().exec("PRAGMA max_page_count = 1");  // means: not one page more than now
  std::vector<Load> loads;
  for (int i = 0; i < 100000; ++i) loads.push_back({sample.run, 100 + i, 0, 0, 0, 1});
  const auto before = load_loads(connection, {.run_id = sample.run});
  EXPECT_EQ(kind_of([&] { insert(connection, loads); }), ErrorKind::disk_full);
  EXPECT_EQ(load_loads(connection, {.run_id = sample.run}).size(), before.size());
}

TEST(Connection, ReadersNeitherBlockAWriterNorAreBlocked) {
  const TemporaryDirectory directory;
  auto writer = open_writer(directory.file("a.db"), {.busy_timeout_s = 0});
  const auto machine = find_or_insert(writer, sample_machine());
  insert(writer, sample_run(machine));
  insert(writer, sample_run(machine));
  const auto reader = open_reader(directory.file("a.db"), {.busy_timeout_s = 0});

  Query half_read(reader, "SELECT id FROM run");
  ASSERT_TRUE(half_read.next());
  Transaction transaction(writer);
  insert(writer, sample_run(machine));
  EXPECT_EQ(load_runs(open_reader(directory.file("a.db"), {.busy_timeout_s = 0})).size(), 2U);
  transaction.commit();
  EXPECT_TRUE(half_read.next());
  EXPECT_FALSE(half_read.next());  // still the state in which it began
  EXPECT_EQ(load_runs(reader).size(), 3U);
}

TEST(Connection, ReaderInAWritingProcessKeepsItsLocks) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  auto writer = open_writer(path);
  store_sample(writer);
  { const auto reader = open_reader(path); }  // closing a file of its own would drop the locks
  // Without them another process would take itself for the last one and delete the log under the
  // writer.
  in_processes(1, [&](int) {
    auto other = open_writer(path);
    heartbeat_run(other, 1);
  });
  EXPECT_TRUE(std::filesystem::exists(path + "-wal"));
  EXPECT_NO_THROW(heartbeat_run(writer, 1));
  EXPECT_TRUE(find_problems(writer, 60).empty());
}

TEST(Connection, ProcessesMayCreateTheSameFileAtOnce) {
  const TemporaryDirectory directory;
  in_processes(4, [&](int) {
    auto connection = open_writer(directory.file("a.db"));
    insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  });
  EXPECT_EQ(load_runs(open_reader(directory.file("a.db"))).size(), 4U);
}

// Every close of the last connection folds the log into the file and deletes it: openings must not
// trip over that.
TEST(Connection, ProcessesOpenWriteReadAndCloseAtAnyMoment) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  constexpr int rounds = 20;
  in_processes(4, [&](int process) {
    for (int i = 0; i < rounds; ++i) {
      if (process % 2 == 0) {
        auto connection = open_writer(path);
        std::vector<Load> loads;
        for (int j = 0; j < 500; ++j) loads.push_back({1, 100 + i, process, 0, j, 1});
        insert(connection, loads);
      } else {
        load_loads(open_reader(path), {.run_id = 1});
      }
    }
  });
  const auto connection = open_reader(path);
  EXPECT_EQ(load_loads(connection, {.run_id = 1, .first_iteration = 100}).size(),
            2U * rounds * 500);
  EXPECT_TRUE(find_problems(connection, 60).empty());
}

TEST(Connection, KilledWriterLosesNothingItWasToldIsStored) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  for (int round = 0; round < 5; ++round) {
    int stored[2];
    ASSERT_EQ(pipe(stored), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto connection = open_writer(path);
      for (int i = 0;; ++i) {
        Iteration iteration;
        iteration.run_id = 1;
        iteration.iteration = 1000000 * (round + 1) + i;
        insert(connection, std::span<const Iteration>(&iteration, 1));
        if (write(stored[1], &iteration.iteration, sizeof(int)) < 0) _exit(1);
      }
    }
    close(stored[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 13 * round));
    kill(child, SIGKILL);
    int last = 0;
    while (read(stored[0], &last, sizeof(int)) == sizeof(int)) {
    }
    close(stored[0]);
    waitpid(child, nullptr, 0);
    const auto connection = open_reader(path);
    EXPECT_TRUE(find_problems(connection, 60).empty());
    const auto iterations = load_iterations(connection, 1);
    EXPECT_GE(iterations.back().iteration, last);
  }
}

}  // namespace
}  // namespace db::connection_test
