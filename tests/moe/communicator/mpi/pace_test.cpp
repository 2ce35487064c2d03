#include "moe/communicator/mpi/pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moe::pace_test {
namespace {

constexpr double kRate = 62.5e6;  // 0.5 Gbit/s

/// A wait that has seen 1 MiB come at this rate since `begin`; returns when.
double learn(Pace& pace, double begin, double rate) {
  constexpr std::int64_t fragment = 64 << 10;
  pace.begin(begin);
  double now = begin;
  for (int i = 0; i <= 16; ++i) {
    now = begin + i * fragment / rate;
    pace.arrived(fragment, now);
  }
  return now;
}

TEST(Pace, LooksMoreSeldomTheLongerNothingComes) {
  Pace pace;
  pace.begin(10);
  EXPECT_EQ(pace.sleep_s(1 << 20, false, 10), Pace::kShortest_s);
  EXPECT_NEAR(pace.sleep_s(1 << 20, false, 10 + 1.6e-3), 1e-4, 1e-12);
  EXPECT_EQ(pace.sleep_s(1 << 20, false, 11), Pace::kLongestIdle_s);
}

TEST(Pace, SleepsAsLongAsWhatIsUnderWayMustTakeButHoldsNoMoreThanTheKernel) {
  Pace pace;
  const double now = learn(pace, 10, kRate);
  EXPECT_NEAR(pace.bytes_per_s(), kRate, 1e-3 * kRate);
  EXPECT_NEAR(pace.sleep_s(8 << 20, false, now), Pace::kHeldBytes / kRate, 1e-5);
  // 160 KiB, of which one fragment of 128 may have come already.
  EXPECT_NEAR(pace.sleep_s(160 << 10, false, now), (32 << 10) / kRate, 1e-5);
  Pace slow;
  EXPECT_EQ(slow.sleep_s(8 << 20, false, learn(slow, 10, 1e6)), Pace::kLongest_s);
}

TEST(Pace, LooksFinelyWhereTheEndIsNearOrAPeerOfTheNodeIsMissing) {
  for (const bool near : {false, true}) {
    Pace pace;
    const double now = learn(pace, 10, kRate);
    const std::int64_t missing = near ? 8 << 20 : 64 << 10;
    double last = 0;
    for (int look = 0; look < 20; ++look) {
      const double sleep = pace.sleep_s(missing, near, now);
      EXPECT_GE(sleep, std::max(last, Pace::kShortest_s));
      EXPECT_LE(sleep, Pace::kLongestNear_s);
      last = sleep;
    }
    EXPECT_EQ(last, Pace::kLongestNear_s);
  }
}

TEST(Pace, BelievesAFasterRateAtOnceAndASlowerOneByAndBy) {
  Pace pace;
  learn(pace, 10, kRate);
  learn(pace, 20, kRate / 2);  // four stretches of 256 KiB
  EXPECT_NEAR(pace.bytes_per_s(), kRate * (0.5 + 0.5 * 0.75 * 0.75 * 0.75 * 0.75), 1e-3 * kRate);
  learn(pace, 30, 2 * kRate);
  EXPECT_NEAR(pace.bytes_per_s(), 2 * kRate, 1e-3 * kRate);
}

}  // namespace
}  // namespace moe::pace_test
