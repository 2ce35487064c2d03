#include "tuner/costs/beside.h"

#include <gtest/gtest.h>

namespace tuner::beside_test {
namespace {

/// The fit of ops that take as many seconds as they have units.
LinearFit seconds_are_units() {
  LinearFit fit;
  fit.beta_s_per_unit = 1;
  return fit;
}

/// An op that takes `alone_s` alone, and ran at this speed for `beside_s`, for `several_s` of these
/// beside two others or more.
Observation slowed(double alone_s, double beside_s, double speed, double several_s = 0) {
  Observation observation;
  observation.sample = {1, alone_s, alone_s + (1 - speed) * beside_s};
  observation.beside.any = beside_s;
  observation.beside.several = several_s;
  return observation;
}

void add(BesideOne& beside, const Observation& observation) {
  beside.add(observation, seconds_are_units(), observation.beside.any);
}

TEST(BesideOne, HasASpeedWhereObservationsOverlapEnoughTogether) {
  BesideOne beside;
  add(beside, slowed(0.0010, 0.0004, 0.5));
  add(beside, slowed(0.0030, 0.0004, 0.5));
  EXPECT_FALSE(beside.speed());
  add(beside, slowed(0.0090, 0.0004, 0.5));
  EXPECT_NEAR(beside.speed().value(), 0.5, 1e-9);
}

TEST(BesideOne, CountsObservationsWithoutAThirdWhereThereAreEnough) {
  BesideOne beside;
  for (int i = 0; i < 3; ++i) add(beside, slowed(0.0090, 0.0050, 0.25, 0.0040));
  EXPECT_NEAR(beside.speed().value(), 0.25, 1e-9) << "there are no others";
  add(beside, slowed(0.0090, 0.0015, 0.75));
  EXPECT_NEAR(beside.speed().value(), 0.75, 1e-9);
}

TEST(BesideOne, LeavesOutWhatRanBesideSomethingElse) {
  BesideOne beside;
  const Observation observation = slowed(0.0090, 0.0050, 0.5);
  beside.add(observation, seconds_are_units(), 0.5 * observation.beside.any);
  EXPECT_FALSE(beside.speed());
}

}  // namespace
}  // namespace tuner::beside_test
