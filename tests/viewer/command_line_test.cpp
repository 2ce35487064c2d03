#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "db/connection.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::command_line_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string output;
};

// Without a display, whatever the test's own environment has.
Outcome moe_view(const std::string& arguments) {
  const std::string command =
      "timeout 20 env -u DISPLAY -u WAYLAND_DISPLAY '" MOE_VIEW "' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.output.push_back(static_cast<char>(c));
  }
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() : folder(fs::temp_directory_path() / ("moe_view_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    db::Connection connection = db::open_writer(database());
    fill_synthetic_database(connection);
  }
  ~CommandLine() override { fs::remove_all(folder); }
  std::string database() const { return (folder / "results.db").string(); }

  fs::path folder;
};

TEST_F(CommandLine, WithoutADisplayItSaysWhatToDo) {
  const Outcome outcome = moe_view(database() + " --screenshot " + (folder / "x.png").string());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("no display"));
  EXPECT_THAT(outcome.output, HasSubstr("run under xvfb-run"));
  EXPECT_FALSE(fs::exists(folder / "x.png"));
}

TEST_F(CommandLine, WrongFilesAndIdsAreWrongUse) {
  const Outcome missing = moe_view((folder / "none.db").string());
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output, HasSubstr("none.db"));
  std::ofstream(folder / "text.db")
      << "this is no database, it is a text that is long enough to have a header in it: "
         "SQLite's takes a hundred bytes.";
  const Outcome text = moe_view((folder / "text.db").string());
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.output, HasSubstr("text.db"));
  const Outcome run = moe_view("--db " + database() + " --run 4711");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.output, HasSubstr("there is no run 4711"));
  EXPECT_EQ(moe_view(database() + " --timeline 4711").code, 2);
}

TEST_F(CommandLine, APipeOrAnEndlessDeviceIsNoDatabase) {
  const fs::path pipe = folder / "pipe.db";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe.string(), std::string("/dev/zero")}) {
    const Outcome outcome = moe_view(path);
    EXPECT_EQ(outcome.code, 2) << path;
    EXPECT_THAT(outcome.output, HasSubstr(path));
  }
}

TEST_F(CommandLine, WrongUseNamesTheOption) {
  EXPECT_EQ(moe_view("").code, 2);
  for (const std::string wrong :
       {"--panel nothing", "--size 3", "--size 1600x900x3", "--range 2:1", "--nonsense"}) {
    const Outcome outcome = moe_view(database() + " " + wrong);
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_THAT(outcome.output, HasSubstr(wrong.substr(0, wrong.find(' '))));
  }
}

TEST_F(CommandLine, HelpShowsExamplesAndVersionTheBuild) {
  const Outcome help = moe_view("-h");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
  const Outcome version = moe_view("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.output, HasSubstr("moe-view 0."));
}

}  // namespace
}  // namespace viewer::command_line_test
