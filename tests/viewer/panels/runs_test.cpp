#include <gtest/gtest.h>

#include "tests/viewer/app/open_app.h"
#include "viewer/panels/run_list.h"

namespace viewer::runs_test {
namespace {

class RunsTest : public ::testing::Test, public OpenApp {};

TEST_F(RunsTest, AClickOnATrialShowsItsTimelines) {
  App app = open();
  show_panel(app, "runs");
  const auto draw = [&] { draw_app(app); };
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  // Rows of trials fill the lower part: one of those that a column of points meets is clicked.
  for (float y = 500; y < 900 && std::string(app.panel->name) == "runs"; y += 8) {
    headless.click({40, y}, draw);
  }
  EXPECT_STREQ(app.panel->name, "timeline");
  EXPECT_FALSE(app.session.timelines.empty());
}

TEST_F(RunsTest, TheFilterIsTheRunListsToo) {
  App app = open();
  app.states.of<RunFilter>().words = "nothing is called this";
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    headless.frame([&] { draw_app(app); });
  }
  EXPECT_EQ(app.states.of<RunFilter>().words, "nothing is called this");
}

}  // namespace
}  // namespace viewer::runs_test
