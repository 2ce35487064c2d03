#include "tuner/costs/beside.h"

#include <gtest/gtest.h>

#include "tests/tuner/line.h"

namespace tuner::beside_test {
namespace {

constexpr auto kOther = static_cast<std::size_t>(Occupation::copy);

/// An op that takes `alone_s` alone, and ran at this speed for `beside_s` beside a copy, for
/// `several_s` of these beside communication too.
Observation slowed(double alone_s, double beside_s, double speed, double several_s = 0) {
  Observation observation;
  observation.sample = {1, alone_s, alone_s + (1 - speed) * beside_s};
  observation.beside.any = observation.beside.each[kOther] = beside_s;
  observation.beside.each[static_cast<std::size_t>(Occupation::inter_node)] = several_s;
  return observation;
}

/// Of computation beside copies.
double speed_of(const std::vector<Observation>& observations) {
  Pairs pairs;
  for (const Observation& one : observations) {
    pairs.add(Occupation::computation, one, test::line(0, 1));  // as many seconds as units
  }
  return tuner::speed_of(pairs.speeds(), Occupation::computation, Occupation::copy);
}

TEST(Pairs, HaveASpeedWhereObservationsOverlapEnoughTogether) {
  EXPECT_EQ(speed_of({slowed(0.0010, 0.0004, 0.5), slowed(0.0030, 0.0004, 0.5)}), 1);
  EXPECT_NEAR(speed_of({slowed(0.0010, 0.0004, 0.5), slowed(0.0030, 0.0004, 0.5),
                        slowed(0.0090, 0.0004, 0.5)}),
              0.5, 1e-9);
}

TEST(Pairs, CountObservationsWithoutAThird) {
  EXPECT_NEAR(speed_of({slowed(0.0090, 0.0050, 0.25, 0.0040), slowed(0.0090, 0.0050, 0.25, 0.0040),
                        slowed(0.0090, 0.0015, 0.75)}),
              0.75, 1e-9);
}

TEST(Pairs, LeaveOutWhatRanBesideSomethingElse) {
  Observation observation = slowed(0.0090, 0.0050, 0.5);
  observation.beside.each[kOther] = 0.0025;
  EXPECT_EQ(speed_of({observation}), 1);
}

}  // namespace
}  // namespace tuner::beside_test
