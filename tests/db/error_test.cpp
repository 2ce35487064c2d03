#include "db/error.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include <cerrno>

#include "db/transaction.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::error_test {
namespace {

TEST(Error, LockSaysWhoWaitedHowLongAndWhoWrites) {
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"), {.busy_timeout_s = 0.2});
  store_sample(connection);
  int ready[2], finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(finish[1]);
    auto other = open_writer(directory.file("a.db"));
    const Transaction transaction(other);
    char byte = 0;
    if (write(ready[1], &byte, 1) == 1 && read(finish[0], &byte, 1) < 0) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  try {
    heartbeat_run(connection, 1);
    ADD_FAILURE() << "not locked";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::locked);
    EXPECT_EQ(exit_code(error), 1);
    const std::string message = error.what();
    EXPECT_NE(message.find(fmt::format("process {} waited 0.", getpid())), std::string::npos)
        << message;
    EXPECT_NE(message.find("store a heartbeat"), std::string::npos) << message;
    if (access("/proc/locks", R_OK) == 0) {
      EXPECT_NE(message.find(fmt::format("process {} (", child)), std::string::npos) << message;
    }
  }
  for (const int end : {ready[0], ready[1], finish[0], finish[1]}) close(end);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(heartbeat_run(connection, 1));
}

TEST(Error, NamesTheFileAndTheCause) {
  const auto error = translate(SQLITE_CORRUPT, "malformed", nullptr, "a.db", "open", 0);
  EXPECT_EQ(error.kind, ErrorKind::corrupt);
  EXPECT_STREQ(error.what(), "a.db: truncated or damaged (open: malformed)");
  EXPECT_EQ(translate(SQLITE_NOTADB, "", nullptr, "a.db", "", 0).kind, ErrorKind::not_a_database);
  EXPECT_EQ(translate(SQLITE_FULL, "", nullptr, "a.db", "", 0).kind, ErrorKind::disk_full);
  EXPECT_EQ(translate(SQLITE_READONLY, "", nullptr, "a.db", "", 0).kind, ErrorKind::read_only);
  EXPECT_EQ(translate(SQLITE_BUSY_SNAPSHOT, "", nullptr, "a.db", "", 0).kind, ErrorKind::locked);
}

TEST(Error, ADiskThatFailsIsNoWrongUse) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_IOERR_READ, SQLITE_IOERR_FSYNC}) {
    const auto error = translate(code, "disk I/O error", nullptr, "a.db", "store iterations", 0);
    EXPECT_EQ(exit_code(error), 1);
    EXPECT_STREQ(error.what(), "a.db: store iterations: disk I/O error");
  }
}

TEST(Error, AFaultOfTheMachineIsNamedAndNoWrongUse) {
  errno = EMFILE;
  const auto open = translate(SQLITE_CANTOPEN, "unable to open", nullptr, "a.db", "open", 0);
  EXPECT_EQ(exit_code(open), 1);
  EXPECT_STREQ(open.what(), "a.db: cannot be opened (open): Too many open files");
  errno = EIO;
  const auto read = translate(SQLITE_CORRUPT, "malformed", nullptr, "a.db", "query", 0);
  EXPECT_EQ(exit_code(read), 1);
  EXPECT_STREQ(read.what(), "a.db: cannot be read or written (query): Input/output error");
  errno = ENOENT;
  EXPECT_EQ(exit_code(translate(SQLITE_CANTOPEN, "", nullptr, "a.db", "open", 0)), 2);
  errno = 0;
}

TEST(Error, WrongFilesExitWithTwo) {
  EXPECT_EQ(exit_code(Error(ErrorKind::newer, "")), 2);
  EXPECT_EQ(exit_code(Error(ErrorKind::disk_full, "")), 1);
  EXPECT_EQ(exit_code(Error(ErrorKind::gone, "")), 1);
}

}  // namespace
}  // namespace db::error_test
