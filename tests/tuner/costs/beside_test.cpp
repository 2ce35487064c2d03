#include "tuner/costs/beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::beside_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kSpeed = 0.5;

/// The fit of ops that take as many seconds as they have units.
LinearFit seconds_are_units() {
  LinearFit fit;
  fit.beta_s_per_unit = 1;
  return fit;
}

/// An op that takes `alone_s` alone, and ran at half its speed for the first `beside_s`.
Observation slowed(double alone_s, double beside_s) {
  Observation observation;
  observation.sample = {1, alone_s, alone_s + (1 - kSpeed) * beside_s};
  observation.beside.links = observation.beside.any = beside_s;
  return observation;
}

void add(BesideByTime& beside, double alone_s, double beside_s) {
  beside.add(slowed(alone_s, beside_s), seconds_are_units(), beside_s);
}

TEST(BesideByTime, HasASpeedForEachDoublingThatOverlapsEnough) {
  BesideByTime beside;
  add(beside, 0.0021, 0.0015);
  add(beside, 0.0022, 0.0015);
  add(beside, 0.0090, 0.0050);
  add(beside, 0.0400, 0.0009);  // less than kEnoughOverlap_s
  const std::vector<SpeedByTime> speeds = beside.speeds();
  ASSERT_THAT(speeds, SizeIs(2));
  EXPECT_NEAR(speeds[0].alone_s, 0.0021, 1e-9);
  EXPECT_NEAR(speeds[0].speed, kSpeed, 1e-9);
  EXPECT_NEAR(speeds[1].alone_s, 0.0090, 1e-9);
}

TEST(BesideByTime, HasOneSpeedWhereOnlyAllTimesTogetherOverlapEnough) {
  BesideByTime beside;
  add(beside, 0.0010, 0.0004);
  add(beside, 0.0030, 0.0004);
  EXPECT_THAT(beside.speeds(), IsEmpty());
  add(beside, 0.0090, 0.0004);
  const std::vector<SpeedByTime> speeds = beside.speeds();
  ASSERT_THAT(speeds, SizeIs(1));
  EXPECT_NEAR(speeds[0].speed, kSpeed, 1e-9);
  EXPECT_NEAR(speeds[0].alone_s, 0.0030, 1e-9);
}

TEST(BesideByTime, PlacesASpeedByExecutionsThatCount) {
  BesideByTime beside;
  for (int i = 0; i < 5; ++i) add(beside, 0.0039, 0);  // alone
  add(beside, 0.0021, 0.0015);
  ASSERT_THAT(beside.speeds(), SizeIs(1));
  EXPECT_NEAR(beside.speeds()[0].alone_s, 0.0021, 1e-9);
}

}  // namespace
}  // namespace tuner::beside_test
