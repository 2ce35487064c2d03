#include "db/console/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "db/connection.h"
#include "tests/db/temporary_directory.h"

namespace db::output_file_test {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string path = directory.file("out.txt");

  void expect_refused(const std::string& name, int code, const std::string& part) {
    const auto before = snapshot(directory.path());
    try {
      OutputFile file(name);
      ADD_FAILURE() << name << " was opened";
    } catch (const OutputError& error) {
      EXPECT_EQ(error.exit_code, code) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_TRUE(snapshot(directory.path()) == before);
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 07777U;
}

TEST_F(OutputFiles, APlainFileIsReplacedOnlyByACompleteOneAndKeepsItsMode) {
  write_file(path, "old");
  chmod(path.c_str(), 0640);
  {
    OutputFile file(path);
    file.write("half of it");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  write_output(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(mode_of(path), 0640U);
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);  // nothing is left beside it
}

TEST_F(OutputFiles, ANewFileObeysTheUmask) {
  const mode_t before = umask(027);
  write_output(path, "new");
  umask(before);
  EXPECT_EQ(mode_of(path), 0640U);
}

TEST_F(OutputFiles, LinksStayLinks) {
  write_file(directory.file("target"), "old");
  fs::create_symlink("target", path);
  fs::create_symlink(path, directory.file("second"));
  write_output(directory.file("second"), "new");
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_TRUE(fs::is_symlink(directory.file("second")));
  EXPECT_EQ(read_file(directory.file("target")), "new");
}

TEST_F(OutputFiles, ALinkToNothingYetMakesWhatItNames) {
  fs::create_symlink("target", path);
  write_output(path, "new");
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(read_file(directory.file("target")), "new");
}

TEST_F(OutputFiles, LinksInACircleAreRefused) {
  fs::create_symlink("second", path);
  fs::create_symlink("out.txt", directory.file("second"));
  expect_refused(path, kExitWrongUse, "symbolic links");
}

TEST_F(OutputFiles, DevicesStayDevices) {
  write_output("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/null", path);
  write_output(path, "text");
  EXPECT_TRUE(fs::is_character_file(path));
}

TEST_F(OutputFiles, AFullDeviceIsAnError) {
  OutputFile file("/dev/full");
  file.write("text");
  try {
    file.commit();
    ADD_FAILURE() << "a full device took it";
  } catch (const OutputError& error) {
    EXPECT_FALSE(error.closed());
    EXPECT_STREQ(error.what(), "/dev/full: cannot be written: No space left on device");
  }
}

TEST_F(OutputFiles, APipeIsWrittenThrough) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { std::getline(std::ifstream(path), read, '\0'); });
  write_output(path, "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(OutputFiles, ADescriptorOfThisProcessGoesOnWhereItIs) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(write(descriptor, "before ", 7), 7);
  const std::string name = "/dev/fd/" + std::to_string(descriptor);
  write_output(name, "and");
  write_output(name, " after");
  close(descriptor);
  EXPECT_EQ(read_file(path), "before and after");
}

TEST_F(OutputFiles, WhatCannotBeWrittenIsRefusedAtOnce) {
  expect_refused(directory.file("none/out"), kExitWrongUse, "No such file or directory");
  expect_refused(directory.path(), kExitWrongUse, "Is a directory");
  expect_refused("", kExitWrongUse, "No such file or directory");
}

TEST_F(OutputFiles, NoDatabaseIsEverReplaced) {
  { open_writer(directory.file("a.db")); }
  fs::create_symlink("a.db", directory.file("link"));
  for (const char* name : {"a.db", "link"}) {
    expect_refused(directory.file(name), kExitWrongUse, "is a database");
  }
}

}  // namespace
}  // namespace db::output_file_test
