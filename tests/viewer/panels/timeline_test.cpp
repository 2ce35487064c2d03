#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
#include "viewer/model/catalog.h"
#include "viewer/panels/fit_choice.h"
#include "viewer/timeline/tables.h"
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

TEST_F(TimelineTest, TheTableOfOpsHasThePredictionBeside) {
  App app = open();
  show_figures(app, "ops");
  const auto draw = [&] { draw_app(app); };
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  auto& panel = app.states.of<TimelinePanel>();
  const db::TimelineInfo& shown = app.session.timelines.at(app.session.stacked[0]).info;
  const db::TimelineInfo* beside = compared_with(app.session.catalog, shown);
  ASSERT_NE(beside, nullptr);
  ASSERT_TRUE(panel.memo.has(Question::index, beside->id));
  const Timeline& timeline = app.session.timelines.at(shown.id);
  const std::vector<StackEntry> stack = {
      {&timeline, "", "", "", &app.session.beside.at(beside->id)}};
  EXPECT_EQ(op_rows(panel, stack).rows.size(), op_rows(panel, stack).beside_s.size());
  EXPECT_EQ(beside->kind, "predicted");
}

TEST_F(TimelineTest, TheFitOfAnOpIsShownWhereItIsAskedFor) {
  App app = open();
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  app.states.of<TimelinePanel>().asked_fit = "all_to_all";
  headless.frame(draw);
  EXPECT_STREQ(app.panel->name, "fits");
  headless.frame(draw);
  EXPECT_TRUE(app.states.of<FitChoice>().op.empty()) << "the panel of fits has taken it";
  EXPECT_TRUE(app.states.of<TimelinePanel>().asked_fit.empty());
}

TEST_F(TimelineTest, TheFitOfAnOpThatHasNoneIsThatOfProducts) {
  std::vector<db::Fit> fits(2);
  for (db::Fit& fit : fits) {
    fit.run_id = ids.study_run;
    fit.device = "cpu", fit.unit = "flop";
    fit.beta_s_per_unit = 1e-9, fit.max_units = 1e6;
    fit.samples = 9;
  }
  fits[0].op = "gemm", fits[1].op = "expert_linear";
  db::insert(connection, fits);
  App app = open();
  const auto draw = [&] { draw_app(app); };
  // How often the name is drawn: in the filter, in the row and above the chart.
  const auto shown_for = [&](const std::string& kind, const std::string& name) {
    show_panel(app, "timeline");
    headless.frame(draw);
    app.states.of<TimelinePanel>().asked_fit = kind;
    for (int i = 0; i < 3; ++i) headless.frame(draw);
    const std::vector<std::string> texts = drawn_texts();
    return std::count(texts.begin(), texts.end(), name);
  };
  EXPECT_EQ(shown_for("expert_linear", "expert_linear"), 3);
  EXPECT_EQ(shown_for("linear_input_gradient", "gemm"), 3);
  EXPECT_EQ(shown_for("gelu", "gelu"), 1) << "the words that nothing was found for";
}

TEST_F(TimelineTest, ATableThatThereIsNotIsRefused) {
  App app = open();
  for (const std::string& name : figures_names()) EXPECT_NO_THROW(show_figures(app, name));
  EXPECT_THROW(show_figures(app, "nonsense"), UnknownView);
}

TEST_F(TimelineTest, AnOpThatTheDatabaseNamesWithNothingIsDrawn) {
  db::TimelineOp op;
  op.activity = "computation";
  op.stream = "compute";
  db::TimelineInfo timeline;
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
  const std::vector<StackEntry> stack = {{&app.session.timelines.begin()->second, "", "", ""}};
  EXPECT_EQ(legend_of(app.states.of<TimelinePanel>(), stack).size(), 1U);
}

}  // namespace
}  // namespace viewer::panels_timeline_test
