#include "tuner/costs/call_buffers.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/tuner/small_program.h"

namespace tuner::call_buffers_test {
namespace {

using namespace test;

/// A call of three ranks on three nodes, at 1 MB/s: rank 0 sends 6 and 4 MB, rank 1 sends 1 MB to
/// rank 0.
struct CallBuffersTest : ::testing::Test {
  OpCost cost;
  GroupCall call;
  Cluster cluster = small_cluster();

  CallBuffersTest() {
    cost.inter_node_bytes_per_s = 1e6;
    cost.buffers = {.leaving_bytes = 5e5, .ahead_bytes = 2e6};
    call.ranks = {0, 1, 2};
    call.link = Occupation::inter_node;
    call.alpha_s = 0.25;
    call.transfers = {{0, 1, 6'000'000, true}, {0, 2, 4'000'000, true}, {1, 0, 1'000'000, true}};
  }
};

TEST_F(CallBuffersTest, AreUsedBetweenNodesByPairsOfSingleRanks) {
  EXPECT_TRUE(uses_buffers(cost, call));
  GroupCall other = call;
  other.link = Occupation::intra_node;
  EXPECT_FALSE(uses_buffers(cost, other));
  other = call;
  other.copies = {1, 2, 1};
  EXPECT_FALSE(uses_buffers(cost, other));
  other = call;
  other.bytes.resize(3);
  EXPECT_FALSE(uses_buffers(cost, other));
  cost.buffers = {};
  EXPECT_FALSE(uses_buffers(cost, call));
}

TEST_F(CallBuffersTest, LeaveTheLeastTimeThatAnyLastRankAllows) {
  const std::vector<double> least = least_member_seconds(cost, call, cluster);
  // Rank 0 sends 6 - 2 - 0.5 MB where rank 1 is last, 4 - 2 - 0.5 where rank 2 is.
  EXPECT_DOUBLE_EQ(least[0], 0.25 + 1.5);
  EXPECT_DOUBLE_EQ(least[1], 0.25) << "rank 2 is last, and sends it nothing";
  EXPECT_DOUBLE_EQ(least[2], 0.25) << "rank 1 is";
  cost.buffers = {};
  EXPECT_EQ(least_member_seconds(cost, call, cluster), member_seconds(cost, call, cluster));
}

TEST_F(CallBuffersTest, CountAllThatMovesInsideANode) {
  call.transfers.push_back({1, 2, 3'000'000, false});
  cost.intra_node_bytes_per_s = 1e6;
  const std::vector<double> least = least_member_seconds(cost, call, cluster);
  EXPECT_DOUBLE_EQ(least[1], 0.25 + 3);
  EXPECT_DOUBLE_EQ(least[2], 0.25 + 3);
}

}  // namespace
}  // namespace tuner::call_buffers_test
