#include "viewer/window/key_taps.h"

#include <gtest/gtest.h>

namespace viewer::key_taps_test {
namespace {

TEST(KeyTaps, KeepTheReleaseOfATapUntilTheEndOfTheFrame) {
  KeyTaps taps;
  EXPECT_TRUE(taps.passes('F', true));
  EXPECT_FALSE(taps.passes('F', false));
  EXPECT_EQ(taps.end_frame(), std::vector<int>{'F'});
  EXPECT_TRUE(taps.end_frame().empty());
}

TEST(KeyTaps, PassTheReleaseOfAKeyThatWasHeldOverAFrame) {
  KeyTaps taps;
  EXPECT_TRUE(taps.passes('W', true));
  taps.end_frame();
  EXPECT_TRUE(taps.passes('W', false));
  EXPECT_TRUE(taps.end_frame().empty());
}

TEST(KeyTaps, AKeyThatIsDownAgainIsNotReleased) {
  KeyTaps taps;
  taps.passes('W', true);
  EXPECT_FALSE(taps.passes('W', false));
  EXPECT_TRUE(taps.passes('W', true));
  EXPECT_TRUE(taps.end_frame().empty());
}

}  // namespace
}  // namespace viewer::key_taps_test
