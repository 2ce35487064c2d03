#include "tuner/planners/situation/within_memory.h"

#include <gtest/gtest.h>

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

TEST_F(WithinMemory, LighterSchedulesNeedLessAndLess) {
  const std::vector<moe::Schedule> lighter = lighter_schedules(scenario.program, {"tutel", {}});
  ASSERT_GT(lighter.size(), 1U);
  std::int64_t before = peak({});
  for (const moe::Schedule& one : lighter) {
    EXPECT_LE(peak(one), before);
    before = peak(one);
  }
  EXPECT_LT(before, peak(lighter.front()));
}

TEST_F(WithinMemory, RecomputesBlocksWhereAShardedOptimizerIsNotEnough) {
  const Planner& tutel = planner_named("tutel");
  const Situation roomy = scenario.situation();
  const std::vector<moe::Schedule> lighter =
      lighter_schedules(scenario.program, plan_with(tutel, roomy, {}));
  scenario.cluster.memory_bytes = peak(lighter.front()) - 1;
  const Situation tight = scenario.situation();
  const moe::Schedule planned = plan_with(tutel, tight, {});
  EXPECT_LE(peak(planned), scenario.cluster.memory_bytes);
  EXPECT_EQ(moe::decisions_of<moe::ShardOptimizer>(planned).size(), 1U);
  EXPECT_GE(moe::decisions_of<moe::RestoreBlock>(planned).size(), 1U);
  EXPECT_NE(parameters_of(tutel, {}, planned).find("restored_blocks"), std::string::npos);
}

}  // namespace
}  // namespace tuner::within_memory_test
