#include "viewer/app/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer::app_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
      EXPECT_THAT(drawn_texts(), Contains(StartsWith("run " + std::to_string(run.id) + " ")));
    }
  }
  EXPECT_EQ(app.session.problem, "");
}

TEST_F(AppTest, OfAnEmptyDatabaseEveryPanelSaysWhichProgramsFillIt) {
  const db::Connection empty = db::open_writer(":memory:");
  App app{open_session(empty, {})};
  app.fonts = headless.fonts;
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    headless.frame([&] { draw_app(app); });
    EXPECT_THAT(drawn_texts(), Contains(AllOf(HasSubstr(" yet: "), HasSubstr("moe-tune"))))
        << panel.name;
  }
}

TEST_F(AppTest, InASmallWindowTheTabsAreThereAndEveryPanelDrawsWordsOfItsOwn) {
  App app = open(ids.sequential_run, "timeline");
  ImGui::GetIO().DisplaySize = {320, 240};
  std::map<std::string, std::set<std::string>> panels_with;  // by text
  for (const Panel& panel : all_panels()) {
    show_panel(app, panel.name);
    for (int i = 0; i < 2; ++i) headless.frame([&] { draw_app(app); });
    const std::vector<std::string> texts = drawn_texts();
    for (const Panel& tab : all_panels()) EXPECT_THAT(texts, Contains(HasSubstr(tab.title)));
    for (const std::string& text : texts) panels_with[text].insert(panel.name);
  }
  for (const Panel& panel : all_panels()) {
    const std::set<std::string> alone{panel.name};
    EXPECT_TRUE(std::any_of(panels_with.begin(), panels_with.end(),
                            [&](const auto& text) { return text.second == alone; }))
        << panel.name << " is empty";
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

TEST_F(AppTest, TheEdgesBesideTheListAndAboveTheTablesAreDragged) {
  App app = open(ids.sequential_run, "timeline");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const float em = headless.fonts.text->FontSize, list = 24 * em, tables = 900 - 15.5F * em;
  headless.drag({list, 500}, {list + 100, 500}, draw);
  EXPECT_NEAR(app.list_em * em, list + 100, 2);
  headless.drag({1200, tables}, {1200, tables - 80}, draw);
  EXPECT_NEAR(app.states.of<TimelinePanel>().details_em.value_or(0) * em, 15.5F * em + 80, 2);
  headless.drag({list + 100, 500}, {-500, 500}, draw);
  EXPECT_GE(app.list_em, 5) << "the list can be found again";
}

TEST_F(AppTest, ControlPlusAndMinusScaleEverythingAndZeroGoesBack) {
  App app = open();
  const auto draw = [&] { draw_app(app); };
  ImGui::GetIO().KeyCtrl = true;
  headless.press('=', draw);
  EXPECT_FLOAT_EQ(app.zoom, 1.1F);
  for (int i = 0; i < 40; ++i) headless.press('=', draw);
  EXPECT_FLOAT_EQ(app.zoom, 4);
  headless.press('0', draw);
  EXPECT_FLOAT_EQ(app.zoom, 1);
  headless.press('-', draw);
  EXPECT_LT(app.zoom, 1);
  ImGui::GetIO().KeyCtrl = false;
}

TEST_F(AppTest, RanksThatAreNoListAreRefused) {
  App app = open();
  show_ranks(app, "0-1", "idle");
  EXPECT_EQ(app.states.of<TimelinePanel>().ranks.choice.order, RankOrder::idle);
  EXPECT_THROW(show_ranks(app, "1-0", ""), UnknownView);
  EXPECT_THROW(show_ranks(app, "", "size"), UnknownView);
}

TEST_F(AppTest, APanelThatIsNotThereIsRefused) {
  App app = open();
  EXPECT_THROW(show_panel(app, "nonsense"), UnknownView);
}

}  // namespace
}  // namespace viewer::app_test
