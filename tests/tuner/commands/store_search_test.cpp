#include "tuner/commands/store_search.h"

#include <gtest/gtest.h>

namespace tuner::store_search_test {
namespace {

FoundSetup found_with_three_blocks_restored() {
  FoundSetup found;
  found.schedule.planner = "joint";
  found.schedule.decisions = {
      moe::RestoreBlock{0, moe::RestoreDense::recompute, moe::RestoreCommunication::repeat},
      moe::RestoreBlock{1, moe::RestoreDense::recompute, moe::RestoreCommunication::repeat},
      moe::RestoreBlock{2, moe::RestoreDense::recompute, moe::RestoreCommunication::keep},
      moe::ShardOptimizer{}};
  found.predicted_s = 0.5;
  found.tokens = 1000;
  found.peak = {10, 20, 30, 40, 50};
  return found;
}

TEST(FiguresOfFound, CountRestoredBlocksAndThoseOfThemThatAreWhole) {
  const db::PredictedSetup figures = figures_of(found_with_three_blocks_restored());
  EXPECT_EQ(figures.restored_blocks, 3);
  EXPECT_EQ(figures.whole_blocks, 2);
  EXPECT_EQ(figures.shard_optimizer, 1);
  EXPECT_EQ(figures.micro_batch_order, "sequential");
  EXPECT_DOUBLE_EQ(figures.tokens_per_s, 2000);
  EXPECT_EQ(figures.predicted_peak_bytes, 150);
}

}  // namespace
}  // namespace tuner::store_search_test
