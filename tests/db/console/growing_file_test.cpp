#include "db/console/growing_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "db/connection.h"
#include "tests/db/temporary_directory.h"

namespace db::growing_file_test {
namespace {

using ::testing::HasSubstr;

bool never(double) { return false; }

class GrowingFiles : public testing::Test {
 protected:
  GrowingFiles() { std::signal(SIGPIPE, SIG_IGN); }

  TemporaryDirectory directory;
  std::string path = directory.file("log.jsonl");

  void expect_refused(const std::string& name, const std::string& part) {
    const auto before = snapshot(directory.path());
    try {
      GrowingFile file(name);
      ADD_FAILURE() << name << " was opened";
    } catch (const OutputError& error) {
      EXPECT_EQ(error.exit_code, 2) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
    EXPECT_TRUE(snapshot(directory.path()) == before);
  }
};

TEST_F(GrowingFiles, AddToWhatIsThere) {
  write_file(path, "old\n");
  GrowingFile file(path);
  file.write("new\n", never);
  EXPECT_EQ(read_file(path), "old\nnew\n");
  EXPECT_EQ(file.bytes(), 8);
  EXPECT_EQ(file.read(4, 100), "new\n");
  file.cut(4);
  file.write("else\n", never);
  EXPECT_EQ(read_file(path), "old\nelse\n");
}

TEST_F(GrowingFiles, RefuseDatabasesAndWhatLiesBesideThem) {
  const std::string database = directory.file("results.db");
  { const auto written = open_writer(database); }
  expect_refused(database, "is a database");
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    expect_refused(database + suffix, "belongs to the database " + database);
  }
  std::filesystem::create_symlink(database, path);
  expect_refused(path, "is a database");
}

TEST_F(GrowingFiles, APipeWithoutAReaderIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  try {
    GrowingFile file(path);
    FAIL() << "a pipe without a reader was opened";
  } catch (const OutputError& error) {
    EXPECT_EQ(error.exit_code, 2);
    EXPECT_EQ(error.what(), path + ": no program reads this pipe: begin its reader first");
  }
}

TEST_F(GrowingFiles, AReaderThatTakesNothingIsGivenUpAndOneThatIsGoneIsAnError) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  GrowingFile file(path);
  EXPECT_EQ(file.bytes(), std::nullopt);
  int asked = 0;
  EXPECT_THAT([&] { file.write(std::string(1 << 20, 'x'), [&](double) { return ++asked == 2; }); },
              testing::ThrowsMessage<OutputError>(HasSubstr("its reader has taken nothing for ")));
  close(reader);
  try {
    file.write("x", never);
    FAIL() << "a pipe was written that nobody reads";
  } catch (const OutputError& error) {
    EXPECT_TRUE(error.closed());
  }
}

TEST_F(GrowingFiles, KnowWhetherTheirNameIsStillTheirs) {
  GrowingFile file(path);
  EXPECT_TRUE(file.is_in_place());
  std::filesystem::rename(path, directory.file("moved"));
  EXPECT_FALSE(file.is_in_place());
  write_file(path, "another");
  EXPECT_FALSE(file.is_in_place());
  std::filesystem::remove(directory.file("moved"));
  EXPECT_THROW(file.is_in_place(), OutputError);
  EXPECT_TRUE(GrowingFile("/dev/null").is_in_place());
}

TEST_F(GrowingFiles, WhatCannotBeWrittenIsSaid) {
  GrowingFile file("/dev/full");
  EXPECT_THAT(
      [&] { file.write("x", never); },
      testing::ThrowsMessage<OutputError>("/dev/full: cannot be written: No space left on device"));
}

TEST_F(GrowingFiles, AHyphenIsStdout) {
  testing::internal::CaptureStdout();
  GrowingFile file("-");
  file.write("a line\n", never);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line\n");
  EXPECT_EQ(file.bytes(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists("-"));
}

}  // namespace
}  // namespace db::growing_file_test
