#include <gtest/gtest.h>

#include <span>

#include "tests/viewer/app/open_app.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer::panels_timeline_test {
namespace {

class TimelineTest : public ::testing::Test, public OpenApp {};

TEST_F(TimelineTest, AHeldKeyAsksForFrames) {
  App app = open();
  ImGui::GetIO().KeysDown['W'] = true;
  headless.frame([&] { draw_app(app); });
  EXPECT_TRUE(is_moving(app));
  ImGui::GetIO().KeysDown['W'] = false;
  headless.frame([&] { draw_app(app); });
  EXPECT_FALSE(is_moving(app));
}

TEST_F(TimelineTest, BeginsWithTheRangeThatIsAskedForAndForgetsItWithTheStack) {
  Start start;
  start.view = TimeRange{0.01, 0.02};
  App app = open(start);
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  EXPECT_EQ(app.states.of<TimelinePanel>().view, *start.view);
  select_trial(app.session, ids.best_trial);
  headless.frame(draw);
  EXPECT_LE(app.states.of<TimelinePanel>().view.begin_s, 0);
}

TEST_F(TimelineTest, ANewStackDropsWhatPointsIntoTheOldOne) {
  App app = open();
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  app.states.of<TimelinePanel>().selected = StackPosition{1, {0, 0}};
  app.states.of<TimelinePanel>().own_axis = true;
  headless.frame(draw);
  app.session.stacked.resize(1);
  load_stack(app.session);
  headless.frame(draw);
  EXPECT_FALSE(app.states.of<TimelinePanel>().selected);
  EXPECT_TRUE(app.states.of<TimelinePanel>().own_axis) << "what a person chose stays";
}

TEST_F(TimelineTest, AnOpThatTheDatabaseNamesWithNothingIsDrawn) {
  db::TimelineOp op;
  op.activity = "computation";
  op.stream = "compute";
  db::Timeline timeline;
  timeline.run_id = ids.failed_run;
  timeline.kind = "imported";
  timeline.duration_s = 1;
  const db::Span span{0, 0, 0, 0, 1, 0, 0};
  db::insert(connection, timeline, std::span(&op, 1), std::span(&span, 1));
  App app = open(ids.failed_run, "timeline");
  ASSERT_EQ(app.session.timelines.size(), 1U);
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  app.states.of<TimelinePanel>().selected = StackPosition{0, {0, 0}};
  ImGui::GetIO().MousePos = {900, 200};
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  EXPECT_EQ(app.states.of<TimelinePanel>().legend.size(), 1U);
}

}  // namespace
}  // namespace viewer::panels_timeline_test
