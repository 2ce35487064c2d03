#include "tuner/planners/mpmoe/granularity_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tuner::mpmoe::granularity_search_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Best at n = sqrt(B / 1000), as overlap and overhead would have it; remembers what was profiled.
struct Parabola {
  std::vector<int> profiled;
  Profile of(double B) {
    return [this, B](int n) {
      profiled.push_back(n);
      return std::pow(n - std::sqrt(B / 1000), 2);
    };
  }
};

TEST(GranularitySearch, StopsWhereTimeBeginsToRise) {
  Parabola time;
  EXPECT_EQ(until_it_rises(1, 8, time.of(9000)), 3);
  EXPECT_THAT(time.profiled, ElementsAre(1, 2, 3, 4));
}

TEST(GranularitySearch, FindsWhatTryingAllDoesForManyBatches) {
  for (const double B : {500.0, 60000.0, 12000.0, 3000.0, 100000.0, 30000.0, 20000.0, 7000.0}) {
    Parabola time;
    const Profile profile = time.of(B);
    int best = 1;
    for (int n = 2; n <= 8; ++n) {
      if (profile(n) < profile(best)) best = n;
    }
    EXPECT_EQ(until_it_rises(1, 8, profile), best) << B;
  }
}

TEST(GranularitySearch, AsReleasedItBeginsAtTheBetterEnd) {
  const auto times = [](std::vector<double> of, std::vector<int>& asked) -> Profile {
    return [of, &asked](int n) {
      asked.push_back(n);
      return of.at(static_cast<std::size_t>(n) - 2);
    };
  };
  std::vector<int> asked;
  EXPECT_EQ(from_the_better_end(2, 6, times({9, 8, 7, 4, 5}, asked)), 5);
  EXPECT_THAT(asked, ElementsAre(2, 6, 5, 4));
  asked.clear();
  EXPECT_EQ(from_the_better_end(2, 6, times({5, 6, 1, 6, 7}, asked)), 2) << "it sees no valley";
  EXPECT_THAT(asked, ElementsAre(2, 6, 3));
  asked.clear();
  EXPECT_EQ(from_the_better_end(2, 2, times({5}, asked)), 2);
  EXPECT_THAT(asked, IsEmpty());
}

}  // namespace
}  // namespace tuner::mpmoe::granularity_search_test
