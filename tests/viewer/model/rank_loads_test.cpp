#include "viewer/model/rank_loads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace viewer::rank_loads_test {
namespace {

// Two ranks with two experts each; in iteration 2 rank 1 holds a replica of expert 0, and rank 0
// has the home of expert 3 instead of 1.
RankLoads two_ranks() {
  return {{{7, 1, 3, 0, 60},
           {7, 1, 3, 1, 20},
           {7, 2, 3, 0, 60, 70, 40},
           {7, 2, 3, 1, 20, 20, 40},
           {7, 2, 5, 0, 1},
           {7, 2, 5, 1, 1}},
          {{7, 2, 3, 0, 0, 0},
           {7, 2, 3, 0, 3, 0},
           {7, 2, 3, 1, 0, 1},
           {7, 2, 3, 1, 1, 0},
           {7, 2, 3, 1, 2, 0}}};
}

TEST(RankLoads, AreThoseOfOneLayerInOneIteration) {
  const LayerRanks before = two_ranks().of(1, 3), after = two_ranks().of(2, 3);
  ASSERT_EQ(before.loads.size(), 2U);
  EXPECT_EQ(before.loads[1].tokens, 20);
  EXPECT_TRUE(before.places.empty());
  ASSERT_EQ(after.loads.size(), 2U);
  EXPECT_EQ(after.loads[0].placed_tokens, 40);
  EXPECT_EQ(after.places.size(), 5U);
  EXPECT_EQ(two_ranks().of(2, 5).loads.size(), 2U);
  EXPECT_TRUE(two_ranks().of(3, 3).loads.empty());
  EXPECT_TRUE(RankLoads().empty());
}

TEST(RankLoads, SayWhereExpertsWereReplicated) {
  const LayerRanks layer = two_ranks().of(2, 3);
  EXPECT_EQ(replica_lines(layer), std::vector<std::string>{"expert 0 of rank 0, also on 1"});
  EXPECT_EQ(experts_text(layer, 0), "experts 0, 3");
  EXPECT_EQ(experts_text(layer, 1), "experts 1, 2; replicas of 0");
  EXPECT_EQ(experts_text(layer, 5), "");
  EXPECT_TRUE(replica_lines(two_ranks().of(1, 3)).empty());
}

TEST(RankLoads, TheFullestRankOverTheMean) {
  EXPECT_DOUBLE_EQ(max_over_mean({60, 20}), 1.5);
  EXPECT_DOUBLE_EQ(max_over_mean({40, 40}), 1.0);
  EXPECT_EQ(max_over_mean({0, 0}), 0);
  EXPECT_EQ(max_over_mean({}), 0);
}

}  // namespace
}  // namespace viewer::rank_loads_test
