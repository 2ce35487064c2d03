#include "tuner/planners/pipeline/best_degrees.h"

#include <gtest/gtest.h>

namespace tuner::best_degrees_test {
namespace {

TEST(BestDegrees, SearchesOnePhaseAfterTheOtherAndTakesTheFewestOfEquals) {
  int asked = 0;
  const Degrees best = best_degrees(6, [&](Degrees degrees) {
    ++asked;
    const auto seconds = [](int chunks, int least) { return chunks < least ? least - chunks : 0; };
    return 1.0 + seconds(degrees.forward, 3) + seconds(degrees.backward, 5);
  });
  EXPECT_EQ(best, (Degrees{3, 5}));
  EXPECT_EQ(asked, 11);
}

}  // namespace
}  // namespace tuner::best_degrees_test
