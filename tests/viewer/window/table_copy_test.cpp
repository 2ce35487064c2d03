#include "viewer/window/table_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer::table_copy_test {
namespace {

using ::testing::StartsWith;

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

TEST_F(TableCopyTest, ANarrowTableIsCopiedWithTheColumnsThatItLeavesOut) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {1280, 800};
  App app = open();
  const auto draw = [&] { draw_app(app); };
  const auto copied_at = [&](float x) {
    io.MousePos = {io.DisplaySize.x * x, io.DisplaySize.y * 0.93F};
    for (int i = 0; i < 3; ++i) headless.frame(draw);
    io.KeyCtrl = true;
    headless.press('C', draw);
    io.KeyCtrl = false;
    return std::string(ImGui::GetClipboardText());
  };
  app.states.of<TimelinePanel>().selected = StackPosition{0, {0, 0}};
  for (int again = 0; again < 2; ++again) {
    show_figures(app, "ops");
    EXPECT_THAT(copied_at(0.7F), StartsWith("op,count,total,predicted,exposed,waiting,mean,P50,"));
    show_figures(app, "differences");
    EXPECT_THAT(copied_at(0.57F),
                StartsWith("what a rank did,first,second,difference\nall of it,"));
    EXPECT_THAT(copied_at(0.9F),
                StartsWith("\"op, its chunks summed, mean of ranks\",first,second,difference\n"));
  }
}

TEST_F(TableCopyTest, ANarrowTableOfBalanceIsCopiedWhole) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {1280, 800};
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  const std::optional<ImVec2> header = drawn_place("max/mean");
  ASSERT_TRUE(header);
  io.MousePos = *header;
  headless.frame(draw);
  io.KeyCtrl = true;
  headless.press('C', draw);
  io.KeyCtrl = false;
  EXPECT_THAT(std::string(ImGui::GetClipboardText()),
              StartsWith("layer,max/mean,ranks,std. dev.,locality,dropped,unused,tokens,max\n1,"));
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
