#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "db/measurement_samples.h"
#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
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

TEST_F(RunsTest, TheLinksOfTheSelectedRunAreDrawn) {
  App app = open(ids.study_run, "runs");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const auto has_links = [] {
    const std::vector<std::string> texts = drawn_texts();
    return std::ranges::count(texts, "none is slower than the others") > 0;
  };
  EXPECT_FALSE(has_links());
  std::vector<db::SampledMeasurement> rows;
  for (const char* ends : {R"({"from":0,"to":1})", R"({"from":1,"to":0})"}) {
    db::SampledMeasurement& row = rows.emplace_back();
    row.measurement.run_id = ids.study_run;
    row.measurement.op = "ping_pong";
    row.measurement.parameters_json = ends;
    row.measurement.bytes = 1 << 20;
    row.measurement.time_s = 0.001;
  }
  db::insert(connection, rows);
  headless.press(294, draw);  // F5
  headless.frame(draw);
  EXPECT_TRUE(has_links());
  EXPECT_EQ(app.session.problem, "");
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
