#include "microbench/awake_ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace microbench::awake_ranks_test {
namespace {

/// Ranks on these sets of cores, each set of so many cores.
std::vector<moe::RankInfo> ranks_on(const std::vector<int>& core_sets, int cores) {
  std::vector<moe::RankInfo> ranks(core_sets.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].core_set = core_sets[rank];
    ranks[rank].cores = cores;
  }
  return ranks;
}

TEST(AwakeRanks, WaitAwakeWhereEachHasACoreToItself) {
  EXPECT_TRUE(may_wait_awake(ranks_on({0, 1}, 1), {0, 1}));
  EXPECT_TRUE(may_wait_awake(ranks_on({0, 0}, 2), {0, 1}));
  EXPECT_FALSE(may_wait_awake(ranks_on({0, 0, 1}, 1), {0, 1, 2})) << "two share a core";
  EXPECT_TRUE(may_wait_awake(ranks_on({0, 0, 1}, 1), {0, 2})) << "the other does not take part";
  EXPECT_FALSE(may_wait_awake(ranks_on({0, 1}, 1), {}));
  std::vector<moe::RankInfo> box = ranks_on({0, 1}, 1);
  box[1].node = 1;
  EXPECT_FALSE(may_wait_awake(box, {0, 1})) << "two nodes of one machine";
  box[1].machine = 1;
  EXPECT_TRUE(may_wait_awake(box, {0, 1})) << "two machines";
}

TEST(AwakeRanks, SleepInAClusterInABox) {
  setenv("MOELAB_BOX_NODES", "2", 1);
  EXPECT_FALSE(may_wait_awake(ranks_on({0, 1}, 1), {0, 1}));
  unsetenv("MOELAB_BOX_NODES");
}

}  // namespace
}  // namespace microbench::awake_ranks_test
