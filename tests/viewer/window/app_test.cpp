#include "viewer/window/app.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/viewer/open_app.h"

namespace viewer {
namespace {

class AppTest : public ::testing::Test, public OpenApp {};

TEST_F(AppTest, BeginsWithTheFirstPanel) {
  App app = open();
  for (int i = 0; i < 4; ++i) headless.frame([&] { draw_app(app); });
  EXPECT_EQ(app.panel, &all_panels().front());
  EXPECT_EQ(app.session.problem, "");
}

TEST_F(AppTest, EveryPanelDrawsEveryRun) {
  App app = open();
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    for (const RunRow& run : app.session.catalog.runs) {
      select_run(app.session, run.id);
      for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
    }
  }
  EXPECT_EQ(app.session.problem, "");
}

TEST_F(AppTest, AnEmptyDatabaseDrawsWithAWordInEveryPanel) {
  const db::Connection empty = db::open_writer(":memory:");
  App app{open_session(empty, {})};
  app.fonts = headless.fonts;
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    headless.frame([&] { draw_app(app); });
  }
}

TEST_F(AppTest, ASmallWindowIsDrawnToo) {
  App app = open(ids.sequential_run, "timeline");
  ImGui::GetIO().DisplaySize = {320, 240};
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
  }
}

TEST_F(AppTest, NumbersSwitchThePanelAndAQuestionMarkOpensTheKeys) {
  App app = open();
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  for (std::size_t i = all_panels().size(); i-- > 0;) {
    headless.press('1' + static_cast<int>(i), draw);
    EXPECT_EQ(app.panel, &all_panels()[i]);
  }
  ImGui::GetIO().AddInputCharacter('?');
  headless.frame(draw);
  EXPECT_TRUE(app.help);
  headless.press(256, draw);  // Escape
  EXPECT_FALSE(app.help);
}

TEST_F(AppTest, F5ReadsTheDatabaseAgain) {
  App app = open(ids.sequential_run, "loads");
  db::Iteration next;
  next.run_id = ids.sequential_run;
  next.iteration = 200;
  db::insert(connection, std::span(&next, 1));
  headless.press(294, [&] { draw_app(app); });
  EXPECT_EQ(app.session.run.iterations.size(), 201U);
}

TEST_F(AppTest, APanelThatIsNotThereIsRefused) {
  App app = open();
  EXPECT_THROW(show_panel(app, "nonsense"), std::invalid_argument);
}

}  // namespace
}  // namespace viewer
