#include "viewer/window/input_order.h"

#include <gtest/gtest.h>

namespace viewer::input_order_test {
namespace {

constexpr KeyEvent kKey{'N', 57, 1, 0, 0}, kCharacter{0, 0, 0, 0, 'n'};
const std::vector<KeyEvent> kBoth = {kKey, kCharacter};

TEST(InputOrder, PassesKeysWhereNothingWasClicked) {
  InputOrder order;
  EXPECT_TRUE(order.passes(kKey));
  EXPECT_TRUE(order.passes(kCharacter));
  EXPECT_TRUE(order.end_frame().empty());
}

TEST(InputOrder, KeepsKeysUntilTwoFramesHaveSeenAClickThatCameWithThem) {
  InputOrder order;
  order.on_button(true);
  order.on_button(false);
  EXPECT_FALSE(order.passes(kKey));
  EXPECT_FALSE(order.passes(kCharacter));
  EXPECT_TRUE(order.end_frame().empty()) << "the button was down in this frame";
  EXPECT_EQ(order.end_frame(), kBoth);
  EXPECT_TRUE(order.end_frame().empty());
}

TEST(InputOrder, KeepsKeysUntilAFrameHasSeenTheReleaseOfAButton) {
  InputOrder order;
  order.on_button(true);
  order.end_frame();
  order.on_button(false);
  EXPECT_FALSE(order.passes(kKey));
  EXPECT_FALSE(order.passes(kCharacter));
  EXPECT_EQ(order.end_frame(), kBoth);
}

TEST(InputOrder, PassesKeysWhileAButtonIsHeld) {
  InputOrder order;
  order.on_button(true);
  EXPECT_TRUE(order.passes(kKey));
  order.end_frame();
  EXPECT_TRUE(order.passes(kKey));
}

}  // namespace
}  // namespace viewer::input_order_test
