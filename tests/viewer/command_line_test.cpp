#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/store.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/panels/panels.h"

namespace viewer::command_line_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string output;
};

// Without a display, whatever the test's own environment has.
Outcome run(const std::string& program) {
  const std::string command = "timeout 60 env -u DISPLAY -u WAYLAND_DISPLAY " + program + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.output.push_back(static_cast<char>(c));
  }
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

Outcome moe_view(const std::string& arguments) { return run("'" MOE_VIEW "' " + arguments); }

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

TEST_F(CommandLine, WithoutADatabaseAWindowIsOpenedThatListsThem) {
  const Outcome outcome = moe_view("");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("no display"));
}

TEST_F(CommandLine, WithoutADisplayAWindowSaysWhatToDo) {
  const Outcome outcome = moe_view(database());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("no display"));
  EXPECT_THAT(outcome.output, HasSubstr("run under xvfb-run"));
}

TEST_F(CommandLine, APictureNeedsNoDisplay) {
  const Outcome outcome = moe_view(database() + " --screenshot " + (folder / "x.png").string());
  if (outcome.code == 1) GTEST_SKIP() << outcome.output;  // nothing here draws
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GT(fs::file_size(folder / "x.png"), 20000U);
}

TEST_F(CommandLine, AReportIsAPageWithPicturesAndTables) {
  const fs::path report = folder / "report", without = folder / "without setups";
  const Outcome none = moe_view(database() + " --report '" + without.string() + "'");
  if (none.code == 1) GTEST_SKIP() << none.output;  // nothing here draws
  EXPECT_FALSE(fs::exists(without / "setups.png")) << "no search is stored";
  db::PredictedSetup setup;
  setup.run_id = setup.schedule_id = 1;
  setup.layout = "ep=4", setup.batch_per = "rank";
  setup.predicted_s = 0.01, setup.predicted_peak_bytes = setup.parameter_bytes = 1 << 20;
  {
    db::Connection connection = db::open_writer(database());
    db::insert(connection, std::vector{setup});
  }
  const Outcome outcome = moe_view(database() + " --report " + report.string());
  if (outcome.code == 1) GTEST_SKIP() << outcome.output;  // nothing here draws
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const Panel& panel : all_panels()) {
    EXPECT_GT(fs::file_size(report / (std::string(panel.name) + ".png")), 4096U) << panel.name;
  }
  EXPECT_GT(fs::file_size(report / "trials.csv"), 100U);
  std::stringstream page;
  page << std::ifstream(report / "index.html").rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("box-small on 4 ranks"));
  EXPECT_THAT(page.str(), Not(HasSubstr("http")));
}

TEST_F(CommandLine, AReportOnADatabaseWithSearchesAloneIsOnTheNewestSearch) {
  const std::string searched = (folder / "searched.db").string();
  {
    db::Connection connection = db::open_writer(searched);
    add_search(connection);
  }
  const fs::path report = folder / "found";
  const Outcome outcome = moe_view(searched + " --report " + report.string());
  if (outcome.code == 1) GTEST_SKIP() << outcome.output;  // nothing here draws
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* file : {"setups.png", "setups-2.png"}) {
    EXPECT_GT(fs::file_size(report / file), 4096U) << file;
  }
  EXPECT_GT(fs::file_size(report / "setups.csv"), 100U);
  EXPECT_FALSE(fs::exists(report / "trials.csv"));
  std::stringstream page;
  page << std::ifstream(report / "index.html").rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("moelab search"));
}

TEST_F(CommandLine, AReportThatCannotBeWrittenSaysWhyAndLeavesNothing) {
  fs::create_directories(folder / "full");
  std::ofstream(folder / "full" / "mine.txt") << "mine";
  for (const auto& [place, why] : std::map<std::string, std::string>{
           {"full", "is not empty"},
           {"results.db", "is a file"},
           {"none/here", "cannot be made: No such file or directory"}}) {
    const Outcome outcome = moe_view(database() + " --report " + (folder / place).string());
    EXPECT_EQ(outcome.code, 2) << place;
    EXPECT_THAT(outcome.output, HasSubstr(why));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "full"), {}), 1);
  EXPECT_EQ(moe_view(database() + " --report a --screenshot b.png").code, 2);
}

TEST_F(CommandLine, AReportThatIsCutOffLeavesNothing) {
  const fs::path report = folder / "cut";
  const std::string limited = "bash -c 'ulimit -f 8; exec \"$0\" \"$@\"' '" MOE_VIEW "' ";
  const Outcome outcome = run(limited + database() + " --report " + report.string());
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_FALSE(fs::exists(report));
}

TEST_F(CommandLine, AReportOnADatabaseWithoutStudiesSaysSo) {
  const std::string empty = (folder / "empty.db").string();
  db::open_writer(empty);
  const Outcome outcome = moe_view(empty + " --report " + (folder / "of_empty").string());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("holds no study to report on"));
  EXPECT_FALSE(fs::exists(folder / "of_empty"));
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
  EXPECT_EQ(moe_view("--screenshot " + (folder / "none.png").string()).code, 2) << "of nothing";
  EXPECT_EQ(moe_view(database() + " " + database() + " --report " + folder.string()).code, 2);
  EXPECT_EQ(moe_view("--ranks 5-2 " + database()).code, 2);
  EXPECT_EQ(moe_view("--range=-1e308:1e308 " + database()).code, 2) << "an infinite length";
  for (const std::string wrong :
       {"--panel nothing", "--size 3", "--scale 9", "--scale nan", "--size 1600x900x3",
        "--range 2:1", "--report ''", "--screenshot ''", "--nonsense"}) {
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
