#include <gtest/gtest.h>

#include "tests/viewer/headless.h"
#include "tests/viewer/lanes.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer::legend_test {
namespace {

class LegendTest : public ::testing::Test {
 protected:
  void show(const Timeline& timeline) {
    const std::vector<StackEntry> stack = {{&timeline, "one", "", ""}};
    headless.frame([&] {
      ImGui::SetNextWindowSize({1000, 400});
      ImGui::Begin("test");
      draw_legend(panel, headless.fonts, stack, 600, 900);
      ImGui::End();
    });
    legend = legend_of(panel, stack);
  }

  Headless headless;
  TimelinePanel panel;
  std::vector<LegendItem> legend;
};

TEST_F(LegendTest, HasAnItemPerActivityAndKindWithTheShadesOfItsGradients) {
  show(hand_timeline({{0, "compute", "linear", 0, 1},
                      {0, "compute", "linear_weight_gradient", 1, 2},
                      {0, "compute", "all_to_all", 2, 3, "communication"}}));
  ASSERT_EQ(legend.size(), 2U);
  EXPECT_EQ(legend[0].kind, "linear");
  EXPECT_EQ(legend[0].shades.size(), 2U);
  EXPECT_EQ(legend[1].activity, Activity::communication);
}

TEST_F(LegendTest, AnOpWithoutKindIsShown) {
  show(hand_timeline({{0, "compute", "", 0, 1}, {0, "inter_node", "", 0, 1}}));
  ASSERT_EQ(legend.size(), 2U);
  EXPECT_EQ(legend[0].kind, "no kind");
}

}  // namespace
}  // namespace viewer::legend_test
