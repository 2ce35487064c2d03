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

TEST(KeyTaps, KeepTheReleaseOfCtrlThatWasHeldWithATap) {
  constexpr int kCtrl = 341;
  KeyTaps taps;
  EXPECT_TRUE(taps.passes(kCtrl, true));
  taps.end_frame();
  EXPECT_TRUE(taps.passes('O', true));
  EXPECT_FALSE(taps.passes('O', false));
  EXPECT_FALSE(taps.passes(kCtrl, false)) << "the frame sees Ctrl + O";
  EXPECT_EQ(taps.end_frame(), (std::vector<int>{'O', kCtrl}));
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
