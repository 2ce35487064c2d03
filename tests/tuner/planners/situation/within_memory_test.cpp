#include "tuner/planners/situation/within_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
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
    EXPECT_LE(memory.peaks.size(), 6U) << "as it is, sharded, all blocks, and near the number";
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
    EXPECT_LE(memory.peaks.size(), 7U) << "as it is, sharded, all, all whole, and near the number";
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

/// A stage restores as few blocks as it must, whatever other stages need.
TEST(WithinMemoryOfStages, EachRestoresAsFewBlocksAsItMust) {
  Scenario scenario = load_scenario({.model = "box-tiny",
                                     .cluster = "box",
                                     .database = {},
                                     .ranks = 2,
                                     .layout = "ep=1,pp=2",
                                     .settings = {"model.blocks=16", "training.micro_batches=4"}});
  const moe::Schedule planned = plan_with(planner_named("one_f_one_b"), scenario.situation(), {});
  const auto peaks_of = [&](const moe::Schedule& schedule) {
    const moe::Program program = moe::apply(scenario.program, schedule);
    const StagePeaks peaks = stage_peaks(program, scenario.groups, std::span(&scenario.routing, 1));
    return std::array{peaks.at(0)[0], peaks.at(1)[0]};
  };
  const auto as_it_is = peaks_of(planned);
  const auto of_dense = peaks_of(lighter_schedules(scenario.program, planned).at(1));
  std::array<int, 2> most{};
  for (const int share : {1, 2, 3, 4}) {
    SCOPED_TRACE(share);
    // From where one stage alone exceeds its memory to where it is just enough.
    const std::int64_t least = std::max(of_dense[0], of_dense[1]);
    const std::int64_t limit = least + (std::max(as_it_is[0], as_it_is[1]) - least) * share / 5;
    scenario.cluster.memory_bytes = limit;
    const auto lighter = lighter_schedule(scenario.situation(), planned);
    ASSERT_TRUE(lighter && lighter->fits);
    const auto peaks = peaks_of(lighter->schedule);
    EXPECT_LE(std::max(peaks[0], peaks[1]), limit);
    std::array<std::vector<int>, 2> restored;
    for (const auto& one : moe::decisions_of<moe::RestoreBlock>(lighter->schedule)) {
      EXPECT_EQ(one.communication, moe::RestoreCommunication::keep);
      restored[one.layer < 8 ? 0 : 1].push_back(one.layer);
    }
    for (const int stage : {0, 1}) {
      SCOPED_TRACE(stage);
      most[stage] = std::max(most[stage], static_cast<int>(restored[stage].size()));
      EXPECT_EQ(restored[stage].empty(), as_it_is[stage] <= limit);
      if (restored[stage].empty()) continue;
      EXPECT_EQ(restored[stage].front(), 8 * stage);
      moe::Schedule fewer = lighter->schedule;
      std::erase_if(fewer.decisions, [&](const moe::Decision& decision) {
        const auto* const one = std::get_if<moe::RestoreBlock>(&decision);
        return one != nullptr && one->layer == restored[stage].back();
      });
      EXPECT_GT(peaks_of(fewer)[stage], limit);
    }
  }
  EXPECT_NE(most[0], most[1]);
}

}  // namespace
}  // namespace tuner::within_memory_test
