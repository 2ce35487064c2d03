#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/scenario/scenario.h"

namespace tuner::sharded_optimizer_test {
namespace {

struct ShardedOptimizer : ::testing::Test {
  Scenario scenario = load_scenario(
      {.model = "box-tiny", .cluster = "box", .database = {}, .ranks = 2, .layout = {}});
  Situation situation = scenario.situation();

  std::int64_t peak(const moe::Schedule& schedule) const {
    return planned_peak_bytes(moe::apply(scenario.program, schedule), scenario.groups,
                              scenario.routing);
  }
};

TEST_F(ShardedOptimizer, IsPlannedWhereTheLimitAsksForItAlone) {
  const Planner& tutel = planner_named("tutel");
  const moe::Schedule usual = plan_with(tutel, situation, {});
  EXPECT_TRUE(moe::decisions_of<moe::ShardOptimizer>(usual).empty());
  scenario.cluster.memory_bytes = peak(usual) - 1;
  const Situation tight = scenario.situation();
  const moe::Schedule sharded = plan_with(tutel, tight, {});
  EXPECT_EQ(moe::decisions_of<moe::ShardOptimizer>(sharded).size(), 1);
  EXPECT_LE(peak(sharded), scenario.cluster.memory_bytes);
  EXPECT_EQ(sharded.planner, "tutel");
  EXPECT_NE(parameters_of(tutel, {}, sharded).find(R"("shard_optimizer": true)"),
            std::string::npos);
  for (const Candidate& one : candidates_of(tutel, tight, {})) {
    EXPECT_LE(peak(one.schedule), scenario.cluster.memory_bytes) << one.parameters_json;
  }
}

TEST_F(ShardedOptimizer, LeavesAPlanThatItDoesNotHelp) {
  scenario.cluster.memory_bytes = 1;
  const Situation none = scenario.situation();
  const moe::Schedule usual = plan_with(planner_named("tutel"), situation, {});
  EXPECT_EQ(plan_with(planner_named("tutel"), none, {}), usual);
}

TEST_F(ShardedOptimizer, PlannersOfMPMoEKeepTheirSchedules) {
  for (const char* name : {"pmoe", "mpmoe_pm", "mpmoe_pb"}) {
    scenario.cluster.memory_bytes = 1;
    const Situation none = scenario.situation();
    for (const Candidate& one : candidates_of(planner_named(name), none, {})) {
      EXPECT_TRUE(moe::decisions_of<moe::ShardOptimizer>(one.schedule).empty()) << name;
    }
  }
}

TEST_F(ShardedOptimizer, TakesPlacesAndStreamsOfAllReducesAlong) {
  for (const char* name : {"tutel_improved", "pipemoe_lina", "fsmoe", "lancet", "sequential"}) {
    const moe::Schedule usual = plan_with(planner_named(name), situation, {});
    const auto sharded = with_sharded_optimizer(scenario.program, usual);
    ASSERT_TRUE(sharded) << name;
    EXPECT_LT(peak(*sharded), peak(usual)) << name;
    const auto streams = [](const moe::Schedule& schedule, std::string_view kind) {
      int found = 0;
      for (const auto& one : moe::decisions_of<moe::StreamAssignment>(schedule)) {
        if (one.kind == kind) ++found;
      }
      return found;
    };
    EXPECT_EQ(streams(*sharded, "reduce_shares"), streams(usual, "all_reduce")) << name;
    EXPECT_EQ(streams(*sharded, "gather_shares"), streams(usual, "all_reduce")) << name;
  }
}

}  // namespace
}  // namespace tuner::sharded_optimizer_test
