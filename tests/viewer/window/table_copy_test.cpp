#include "viewer/window/table_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tests/viewer/app/open_app.h"

namespace viewer::table_copy_test {
namespace {

TEST(CsvOfLog, HasALinePerRowAndQuotesWhatNeedsIt) {
  EXPECT_EQ(csv_of_log("| name | figure\n| a, b | 1\n| \"c\" | 2\nwhat follows", 2),
            "name,figure\n\"a, b\",1\n\"\"\"c\"\"\",2\n");
}

TEST(CsvOfLog, PartsRowsThatStandOnOneLine) {
  EXPECT_EQ(csv_of_log("| a | b |  | \n| c | d", 2), "a,b\n,\nc,d\n");
}

class TableCopyTest : public ::testing::Test, public OpenApp {};

TEST_F(TableCopyTest, CtrlCCopiesAllRowsOfTheTableUnderTheMouse) {
  App app = open(ids.study_run, "runs");
  const auto draw = [&] { draw_app(app); };
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = {300, 150};
  headless.frame(draw);
  io.KeyCtrl = true;
  headless.press('C', draw);
  io.KeyCtrl = false;
  const std::string csv = ImGui::GetClipboardText();
  EXPECT_TRUE(csv.starts_with("run,kind,name,planner,device,status,layout,ranks,loss,duration,"))
      << csv;
  const auto lines = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
  EXPECT_EQ(lines, app.session.catalog.runs.size() + 1) << csv;
  EXPECT_EQ(app.notice, "copied " + std::to_string(lines) + " lines as CSV");
}

TEST_F(TableCopyTest, TheTablesBelowTheTimelinesAreCopied) {
  App app = open();
  const auto draw = [&] { draw_app(app); };
  ImGuiIO& io = ImGui::GetIO();
  const std::array<std::pair<const char*, const char*>, 3> kHeaders = {
      std::pair{"ops", "op,count,total,"}, std::pair{"collectives", "rank,caused,last,"},
      std::pair{"path", "kind,steps,seconds,share"}};
  for (const auto& [table, header] : kHeaders) {
    show_figures(app, table);
    for (int i = 0; i < 3; ++i) headless.frame(draw);
    io.MousePos = {io.DisplaySize.x * 0.6F, io.DisplaySize.y * 0.9F};
    headless.frame(draw);
    io.KeyCtrl = true;
    headless.press('C', draw);
    io.KeyCtrl = false;
    const std::string csv = ImGui::GetClipboardText();
    EXPECT_TRUE(csv.starts_with(header)) << table << ": " << csv;
    EXPECT_GT(std::count(csv.begin(), csv.end(), '\n'), 2) << csv;
  }
}

TEST_F(TableCopyTest, SaysWhereThereIsNone) {
  App app = open(ids.study_run, "loads");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  ImGui::GetIO().MousePos = {1500, 880};
  ImGui::GetIO().KeyCtrl = true;
  headless.press('C', draw);
  EXPECT_EQ(app.notice, "there is no table under the mouse");
}

TEST_F(TableCopyTest, PAsksForAPicture) {
  App app = open(ids.study_run, "runs");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  headless.press('P', draw);
  EXPECT_TRUE(app.wants_picture);
}

}  // namespace
}  // namespace viewer::table_copy_test
