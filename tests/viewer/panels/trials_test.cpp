#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"

namespace viewer::trials_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class TrialsPanelTest : public ::testing::Test, public OpenApp {
 protected:
  void settle(App& app, int frames = 4) {
    for (int i = 0; i < frames; ++i) headless.frame([&] { draw_app(app); });
  }

  // `glyphs` is the begin of a drawn text without its spaces: see drawn_place.
  void click_on(App& app, const std::string& glyphs) {
    const auto place = drawn_place(glyphs);
    ASSERT_TRUE(place) << glyphs;
    headless.click(*place, [&] { draw_app(app); });
    settle(app);
  }
};

TEST_F(TrialsPanelTest, ShowsMeasuredTrialsAndBothCharts) {
  App app = open(ids.study_run, "trials");
  settle(app);
  const auto texts = drawn_texts();
  EXPECT_THAT(texts, Contains("Predicted against measured"));
  EXPECT_THAT(texts, Contains("Time against peak memory"));
  EXPECT_THAT(texts, Contains(HasSubstr("chunks 4/3")));
  EXPECT_THAT(texts, Contains(HasSubstr("out_of")));
  EXPECT_THAT(texts, Not(Contains("planned")));
}

TEST_F(TrialsPanelTest, SaysHowManyPlansItHidesAndShowsThemByAClick) {
  App app = open(ids.study_run, "trials");
  const auto planned =
      std::count_if(app.session.catalog.trials.begin(), app.session.catalog.trials.end(),
                    [](const TrialRow& row) { return row.trial.status == "planned"; });
  ASSERT_GT(planned, 0);
  settle(app);
  EXPECT_THAT(drawn_texts(), Contains(HasSubstr(std::to_string(planned) + " trial")));
  EXPECT_THAT(drawn_texts(), Not(Contains("planned")));
  const auto button = drawn_place("Show");
  ASSERT_TRUE(button);
  headless.click(*button, [&] { draw_app(app); });
  settle(app);
  EXPECT_THAT(drawn_texts(), Contains("planned"));
  EXPECT_THAT(drawn_texts(), Not(Contains(HasSubstr("hidden"))));
}

TEST_F(TrialsPanelTest, WhereNothingWasTrainedPlansAreShown) {
  App app = open(ids.study_run, "trials");
  for (TrialRow& row : app.session.catalog.trials) row.trial.status = "planned";
  settle(app);
  EXPECT_THAT(drawn_texts(), Contains("planned"));
  EXPECT_THAT(drawn_texts(), Not(Contains(HasSubstr("hidden"))));
}

TEST_F(TrialsPanelTest, PlansAreHiddenOnceOthersWereTrained) {
  App app = open(ids.study_run, "trials");
  const std::vector<TrialRow> trained = app.session.catalog.trials;
  for (TrialRow& row : app.session.catalog.trials) row.trial.status = "planned";
  settle(app);
  ASSERT_THAT(drawn_texts(), Contains("planned"));
  app.session.catalog.trials = trained;
  settle(app);
  EXPECT_THAT(drawn_texts(), Not(Contains("planned")));
  EXPECT_THAT(drawn_texts(), Contains(HasSubstr("hidden")));
}

TEST_F(TrialsPanelTest, PlansOfAStudyThatHasNothingElseAreShown) {
  App app = open(ids.study_run, "trials");
  for (TrialRow& row : app.session.catalog.trials) {
    if (row.trial.status == "planned") row.study = "untrained";
  }
  settle(app);
  ASSERT_THAT(drawn_texts(), Not(Contains("planned")));
  click_on(app, "allstudies");
  click_on(app, "untrained");  // drawn in the list of studies only, as its trials are hidden
  EXPECT_THAT(drawn_texts(), Contains("planned"));
  EXPECT_THAT(drawn_texts(), Not(Contains(HasSubstr("No trial is listed"))));
}

TEST_F(TrialsPanelTest, PlansStayHiddenOrShownAsAPersonChose) {
  App app = open(ids.study_run, "trials");
  settle(app);
  click_on(app, "hidewhat");
  EXPECT_THAT(drawn_texts(), Contains("planned"));
  click_on(app, "hidewhat");
  EXPECT_THAT(drawn_texts(), Not(Contains("planned")));
  for (TrialRow& row : app.session.catalog.trials) row.trial.status = "planned";
  settle(app);
  EXPECT_THAT(drawn_texts(), Not(Contains("planned")));
  EXPECT_THAT(drawn_texts(), Contains(HasSubstr("No trial is listed")));
}

TEST_F(TrialsPanelTest, AClickOnARowStacksItsTimelines) {
  App app = open(ids.study_run, "trials");
  settle(app);
  for (float y = 60; y < 300 && std::string(app.panel->name) == "trials"; y += 8) {
    headless.click({300, y}, [&] { draw_app(app); });
  }
  EXPECT_STREQ(app.panel->name, "timeline");
  EXPECT_GE(app.session.stacked.size(), 2U);
}

}  // namespace
}  // namespace viewer::trials_test
