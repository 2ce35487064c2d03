#include "tuner/planners/situation/within_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/scenario.h"

namespace tuner::within_memory_test {
namespace {

struct WithinMemory : ::testing::Test {
  Scenario scenario = load_scenario(
      {.model = "box-tiny", .cluster = "box", .database = {}, .ranks = 2, .layout = {}});

  std::int64_t peak(const moe::Schedule& schedule) const {
    return planned_peak_bytes(moe::apply(scenario.program, schedule), scenario.groups,
                              scenario.routing);
  }
};

TEST_F(WithinMemory, ThereIsNothingLighterOfWhatFits) {
  EXPECT_FALSE(lighter_schedule(scenario.situation(), {}));
  scenario.cluster.memory_bytes = peak({});
  EXPECT_FALSE(lighter_schedule(scenario.situation(), {}));
}

TEST_F(WithinMemory, RecomputesBlocksWhereAShardedOptimizerIsNotEnough) {
  const Planner& tutel = planner_named("tutel");
  const moe::Schedule roomy = plan_with(tutel, scenario.situation(), {});
  scenario.cluster.memory_bytes = peak(roomy) - 1;
  const moe::Schedule sharded = plan_with(tutel, scenario.situation(), {});
  EXPECT_EQ(sharded, with_sharded_optimizer(scenario.program, roomy));
  scenario.cluster.memory_bytes = peak(sharded) - 1;
  const moe::Schedule planned = plan_with(tutel, scenario.situation(), {});
  EXPECT_LE(peak(planned), scenario.cluster.memory_bytes);
  EXPECT_EQ(moe::decisions_of<moe::ShardOptimizer>(planned).size(), 1U);
  EXPECT_GE(moe::decisions_of<moe::RestoreBlock>(planned).size(), 1U);
  EXPECT_NE(parameters_of(tutel, {}, planned).find("restored_blocks"), std::string::npos);
}

/// A model of many blocks.
struct WithinMemoryOfManyBlocks : ::testing::Test {
  Scenario scenario = load_scenario({.model = "box-tiny",
                                     .cluster = "box",
                                     .database = {},
                                     .ranks = 2,
                                     .layout = {},
                                     .settings = {"model.blocks=24"}});
  PlanMemory memory;

  bool sends(int block) const { return moe::has_experts(scenario.model, block); }
  int blocks_that_send() const {
    int count = 0;
    for (int block = 0; block < scenario.model.blocks; ++block) count += sends(block) ? 1 : 0;
    return count;
  }
  Situation remembering() {
    Situation situation = scenario.situation();
    situation.memory = &memory;
    return situation;
  }
};

TEST_F(WithinMemoryOfManyBlocks, TheFewestRestoredAreFoundInFewPlans) {
  const auto with_restored = [&](std::size_t blocks) {
    moe::Schedule schedule = with_sharded_optimizer(scenario.program, {"tutel", {}}).value();
    for (std::size_t block = 0; block < blocks; ++block) {
      schedule.decisions.push_back(
          moe::RestoreBlock{static_cast<int>(block), moe::RestoreDense::recompute});
    }
    return schedule;
  };
  for (const std::size_t blocks : {1, 7, 24}) {
    memory = {};
    scenario.cluster.memory_bytes = planned_peak_bytes(scenario.situation(), with_restored(blocks));
    const auto lighter = lighter_schedule(remembering(), {"tutel", {}});
    ASSERT_TRUE(lighter);
    EXPECT_TRUE(lighter->fits);
    EXPECT_EQ(lighter->schedule, with_restored(blocks));
    EXPECT_LE(memory.peaks.size(), 8U) << "as it is, sharded, all blocks, and the halves";
  }
}

TEST_F(WithinMemoryOfManyBlocks, BlocksAreComputedAgainWholeWhereDenseLayersAreNotEnough) {
  const auto with_whole = [&](int blocks) {
    moe::Schedule schedule = with_sharded_optimizer(scenario.program, {"tutel", {}}).value();
    for (int block = 0; block < 24; ++block) {
      schedule.decisions.push_back(moe::RestoreBlock{block, moe::RestoreDense::recompute,
                                                     sends(block) && blocks-- > 0
                                                         ? moe::RestoreCommunication::repeat
                                                         : moe::RestoreCommunication::keep});
    }
    return schedule;
  };
  const auto peak = [&](int whole) {
    return planned_peak_bytes(scenario.situation(), with_whole(whole));
  };
  std::int64_t before = peak(0);
  for (const int blocks : {1, 5, 20}) {
    memory = {};
    scenario.cluster.memory_bytes = peak(blocks);
    EXPECT_LT(scenario.cluster.memory_bytes, before) << blocks;
    before = scenario.cluster.memory_bytes;
    const auto lighter = lighter_schedule(remembering(), {"tutel", {}});
    ASSERT_TRUE(lighter);
    EXPECT_TRUE(lighter->fits);
    const auto restored = moe::decisions_of<moe::RestoreBlock>(lighter->schedule);
    const auto whole = static_cast<int>(std::ranges::count(
        restored, moe::RestoreCommunication::repeat, &moe::RestoreBlock::communication));
    EXPECT_EQ(lighter->schedule, with_whole(whole));
    EXPECT_LE(peak(whole), scenario.cluster.memory_bytes);
    EXPECT_GT(peak(whole - 1), scenario.cluster.memory_bytes);
    EXPECT_LE(memory.peaks.size(), 9U) << "as it is, sharded, all, all whole, and the halves";
  }
  EXPECT_EQ(lightest_schedule(scenario.program, {"tutel", {}}), with_whole(blocks_that_send()));
}

TEST_F(WithinMemoryOfManyBlocks, WhatParametersAloneExceedIsKnownWithoutAPlan) {
  scenario.cluster.memory_bytes = 1;
  const auto lighter = lighter_schedule(remembering(), {"tutel", {}});
  ASSERT_TRUE(lighter);
  EXPECT_FALSE(lighter->fits);
  EXPECT_EQ(memory.peaks.size(), 0U);
}

TEST_F(WithinMemoryOfManyBlocks, WhatNeverFitsIsKnownAfterFourPlans) {
  scenario.cluster.memory_bytes = 1;
  const auto lightest = lighter_schedule(scenario.situation(), {"tutel", {}});
  ASSERT_TRUE(lightest);
  scenario.cluster.memory_bytes = planned_peak_bytes(scenario.situation(), lightest->schedule) - 1;
  const auto lighter = lighter_schedule(remembering(), {"tutel", {}});
  ASSERT_TRUE(lighter);
  EXPECT_FALSE(lighter->fits);
  EXPECT_EQ(moe::decisions_of<moe::RestoreBlock>(lighter->schedule).size(), 24U);
  EXPECT_EQ(memory.peaks.size(), 4U);
  EXPECT_EQ(within_memory(remembering(), {"tutel", {}}), (moe::Schedule{"tutel", {}}));
  EXPECT_EQ(memory.peaks.size(), 4U) << "remembered";
}

}  // namespace
}  // namespace tuner::within_memory_test
