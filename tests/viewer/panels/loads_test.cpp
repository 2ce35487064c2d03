#include "viewer/panels/loads.h"

#include <gtest/gtest.h>

#include "tests/viewer/open_app.h"

namespace viewer {
namespace {

class LoadsTest : public ::testing::Test, public OpenApp {};

TEST_F(LoadsTest, PlayingMovesTheIterationAndAsksForFrames) {
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const auto& panel = app.states.of<LoadPanel>();
  EXPECT_EQ(panel.iteration, 199U);
  EXPECT_FALSE(is_moving(app));
  headless.press(263, draw);  // left
  EXPECT_EQ(panel.iteration, 198U);
  headless.press(32, draw);  // space
  EXPECT_TRUE(is_moving(app));
  for (int i = 0; i < 30; ++i) headless.frame(draw);  // half a second
  EXPECT_NE(panel.iteration, 198U);
  headless.press(32, draw);
  EXPECT_FALSE(is_moving(app));
}

}  // namespace
}  // namespace viewer
