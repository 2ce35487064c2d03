#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
};

TEST_F(TrialsPanelTest, ShowsMeasuredTrialsAndBothCharts) {
  App app = open(ids.study_run, "trials");
  settle(app);
  const auto texts = drawn_texts();
  EXPECT_THAT(texts, Contains("Predicted against measured"));
  EXPECT_THAT(texts, Contains("Time against peak memory"));
  EXPECT_THAT(texts, Contains(HasSubstr("chunks 4/3")));
  EXPECT_THAT(texts, Contains(HasSubstr("out_of")));
  EXPECT_THAT(texts, Not(Contains(HasSubstr("planned "))));
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
