#include "viewer/model/time_range.h"

#include <gtest/gtest.h>

namespace viewer::time_range_test {
namespace {

constexpr TimeRange kExtent{0, 10};

TEST(TimeRange, ZoomKeepsWhatIsUnderTheMouseInPlace) {
  const TimeRange zoomed = zoom({2, 6}, 0.5, 3, kExtent);
  EXPECT_DOUBLE_EQ(zoomed.length_s(), 2);
  EXPECT_DOUBLE_EQ((3 - zoomed.begin_s) / zoomed.length_s(), (3 - 2.0) / 4);
}

TEST(TimeRange, ZoomStopsAtTheWholeWithItsMargin) {
  const TimeRange out = zoom({2, 6}, 1000, 3, kExtent);
  EXPECT_DOUBLE_EQ(out.begin_s, -1);
  EXPECT_DOUBLE_EQ(out.end_s, 11);
}

TEST(TimeRange, ZoomStopsAtTheNarrowestRange) {
  TimeRange range = kExtent;
  for (int i = 0; i < 200; ++i) range = zoom(range, 0.5, 5, kExtent);
  EXPECT_NEAR(range.length_s(), kNarrowestRange_s, 1e-12);
  EXPECT_NEAR(range.begin_s, 5, 1e-6);
}

TEST(TimeRange, PanEndsAtTheBorder) {
  EXPECT_EQ(pan({2, 6}, 1, kExtent), (TimeRange{3, 7}));
  EXPECT_EQ(pan({2, 6}, 100, kExtent), (TimeRange{7, 11}));
  EXPECT_EQ(pan({2, 6}, -100, kExtent), (TimeRange{-1, 3}));
}

}  // namespace
}  // namespace viewer::time_range_test
