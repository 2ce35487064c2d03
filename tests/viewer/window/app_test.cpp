#include "viewer/window/app.h"

#include <gtest/gtest.h>

#include <span>

#include "db/error.h"
#include "db/store.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer {
namespace {

class AppTest : public ::testing::Test {
 protected:
  App open(const Start& start) {
    App app = open_app(connection, start);
    app.fonts = headless.fonts;
    return app;
  }

  Headless headless;
  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
};

TEST_F(AppTest, OpensOnTheLatestRunWithATimeline) {
  App app = open({});
  EXPECT_EQ(app.runs.selected, ids.study_run);
  EXPECT_EQ(app.timelines.size(), 2U);
  for (int i = 0; i < 4; ++i) headless.frame([&] { draw_app(app); });
  EXPECT_EQ(app.problem, "");
}

TEST_F(AppTest, OpensTheRunAndTheTimelinesThatAreAskedFor) {
  EXPECT_EQ(open({ids.sequential_run, {}, View::loads}).run.iterations.size(), 200U);
  EXPECT_EQ(open({ids.sequential_run, {1, 3, 2}, View::timeline}).runs.stacked,
            (std::vector<std::int64_t>{1, 3, 2}));
}

TEST_F(AppTest, AnIdThatIsNotThereIsRefused) {
  EXPECT_THROW(open({999, {}, View::runs}), db::Error);
  EXPECT_THROW(open({std::nullopt, {999}, View::runs}), db::Error);
}

TEST_F(AppTest, EveryViewDrawsEveryRun) {
  App app = open({});
  for (const View view : {View::timeline, View::loads, View::runs}) {
    app.view = view;
    for (const RunRow& run : app.catalog.runs) {
      select_run(app, run.id);
      for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
    }
  }
  EXPECT_EQ(app.problem, "");
}

TEST_F(AppTest, AnEmptyDatabaseDrawsWithAWord) {
  const db::Connection empty = db::open_writer(":memory:");
  App app = open_app(empty, {});
  app.fonts = headless.fonts;
  for (const View view : {View::timeline, View::loads, View::runs}) {
    app.view = view;
    headless.frame([&] { draw_app(app); });
  }
}

TEST_F(AppTest, NumbersSwitchTheViewAndAQuestionMarkOpensTheKeys) {
  App app = open({});
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  headless.press('2', draw);
  EXPECT_EQ(app.view, View::loads);
  headless.press('3', draw);
  EXPECT_EQ(app.view, View::runs);
  headless.press('1', draw);
  EXPECT_EQ(app.view, View::timeline);
  ImGui::GetIO().AddInputCharacter('?');
  headless.frame(draw);
  EXPECT_TRUE(app.help);
  headless.press(256, draw);  // Escape
  EXPECT_FALSE(app.help);
}

TEST_F(AppTest, PlayingMovesTheIterationAndAsksForFrames) {
  App app = open({ids.sequential_run, {}, View::loads});
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  EXPECT_EQ(app.loads.iteration, 199U);
  EXPECT_FALSE(is_animating(app));
  headless.press(263, draw);  // left
  EXPECT_EQ(app.loads.iteration, 198U);
  headless.press(32, draw);  // space
  EXPECT_TRUE(is_animating(app));
  for (int i = 0; i < 30; ++i) headless.frame(draw);  // half a second
  EXPECT_NE(app.loads.iteration, 198U);
  headless.press(32, draw);
  EXPECT_FALSE(is_animating(app));
}

TEST_F(AppTest, AHeldKeyAsksForFrames) {
  App app = open({});
  ImGui::GetIO().KeysDown['W'] = true;
  headless.frame([&] { draw_app(app); });
  EXPECT_TRUE(is_animating(app));
  ImGui::GetIO().KeysDown['W'] = false;
  headless.frame([&] { draw_app(app); });
  EXPECT_FALSE(is_animating(app));
}

TEST_F(AppTest, ATrialIsStackedBelowTheSequentialOne) {
  App app = open({});
  select_trial(app, ids.best_trial);
  EXPECT_EQ(app.timelines.size(), 3U);
  for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
}

TEST_F(AppTest, ReloadSeesWhatWasWrittenMeanwhile) {
  App app = open({ids.sequential_run, {}, View::loads});
  db::Iteration next;
  next.run_id = ids.sequential_run;
  next.iteration = 200;
  db::insert(connection, std::span(&next, 1));
  EXPECT_EQ(app.run.iterations.size(), 200U);
  reload(app);
  EXPECT_EQ(app.run.iterations.size(), 201U);
  EXPECT_EQ(app.timelines.size(), 2U);
  for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
}

TEST(View, NamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(view_from_name("timeline"), View::timeline);
  EXPECT_EQ(view_from_name("loads"), View::loads);
  EXPECT_EQ(view_from_name("runs"), View::runs);
  EXPECT_EQ(view_from_name("fits"), std::nullopt);
}

}  // namespace
}  // namespace viewer
