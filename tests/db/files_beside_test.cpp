#include "db/files_beside.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "db/check.h"
#include "db/connection.h"
#include "db/load.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::files_beside_test {
namespace {

TEST(FilesBeside, WritingToADatabaseThatWasDeletedIsAnError) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  auto connection = open_writer(path);
  const auto run = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  std::filesystem::remove(path);
  EXPECT_EQ(kind_of([&] { heartbeat_run(connection, run); }), ErrorKind::gone);
}

TEST(FilesBeside, WritingToADatabaseThatWasReplacedIsAnErrorAndLeavesTheOther) {
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

TEST(FilesBeside, AGoodDatabaseMovedOverOneThatIsWrittenStaysGood) {
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

TEST(FilesBeside, ALogThatAnotherProcessHasOpenIsNamedAndStays) {
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

}  // namespace
}  // namespace db::files_beside_test
