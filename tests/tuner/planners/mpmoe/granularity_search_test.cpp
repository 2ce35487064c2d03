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
  GranularitySearch search;
  EXPECT_EQ(best_partitions(search, 9000, time.of(9000)), 3);
  EXPECT_THAT(time.profiled, ElementsAre(1, 2, 3, 4));
}

TEST(GranularitySearch, ProfilesOnlyBetweenTheNeighboursPartitions) {
  Parabola time;
  GranularitySearch search;
  best_partitions(search, 9000, time.of(9000));    // 3
  best_partitions(search, 36000, time.of(36000));  // 6
  time.profiled.clear();
  EXPECT_EQ(best_partitions(search, 16000, time.of(16000)), 4);
  EXPECT_THAT(time.profiled, ElementsAre(3, 4, 5));
  time.profiled.clear();
  EXPECT_EQ(best_partitions(search, 4000, time.of(4000)), 2);
  EXPECT_THAT(time.profiled, ElementsAre(1, 2, 3));
}

TEST(GranularitySearch, ProfilesNothingWithinARangeOrTwice) {
  Parabola time;
  GranularitySearch search;
  best_partitions(search, 8800, time.of(8800));  // 3
  best_partitions(search, 9600, time.of(9600));  // 3: its range grows
  time.profiled.clear();
  EXPECT_EQ(best_partitions(search, 9000, time.of(9000)), 3);
  EXPECT_EQ(best_partitions(search, 9600, time.of(9600)), 3);
  EXPECT_THAT(time.profiled, IsEmpty());
}

TEST(GranularitySearch, FindsWhatTryingAllDoesForManyBatches) {
  GranularitySearch search;
  for (const double B : {500.0, 60000.0, 12000.0, 3000.0, 100000.0, 30000.0, 20000.0, 7000.0}) {
    Parabola time;
    const Profile profile = time.of(B);
    int best = 1;
    for (int n = 2; n <= 8; ++n) {
      if (profile(n) < profile(best)) best = n;
    }
    EXPECT_EQ(best_partitions(search, B, profile), best) << B;
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

TEST(GranularitySearch, HasOneAnswerInAScopeOfOne) {
  GranularitySearch search(1);
  EXPECT_EQ(best_partitions(search, 5000, [](int) { return 1.0; }), 1);
}

}  // namespace
}  // namespace tuner::mpmoe::granularity_search_test
