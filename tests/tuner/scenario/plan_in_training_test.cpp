#include "tuner/scenario/plan_in_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/scenario.h"

namespace tuner::plan_in_training_test {
namespace {

using ::testing::HasSubstr;

Scenario box_skewed() {
  ScenarioOptions options;
  options.model = "box-skewed";
  options.cluster = "box";
  options.ranks = 4;
  options.routing = "zipf:1.2";
  return load_scenario(options);
}

/// The plan of a planner after an iteration under the empty schedule, and the lines that it says.
struct Planned {
  moe::Schedule schedule;
  std::string said;
};
Planned plan_after_one(const std::string& planner, std::int64_t memory_limit_bytes) {
  Planned planned;
  PlanRequest request;
  request.planner = planner;
  request.scenario.model = "box-skewed";
  request.scenario.cluster = "box";
  request.scenario.ranks = 4;
  request.memory_limit_bytes = memory_limit_bytes;
  request.say = [&](const std::string& text) { planned.said += text; };
  const Scenario scenario = box_skewed();
  const moe::Schedule nothing;
  planned.schedule =
      plan_in_training(request, plan_scenario(request, {}))({&scenario.routing, &nothing});
  return planned;
}

std::int64_t peak_bytes(const moe::Schedule& schedule) {
  const Scenario scenario = box_skewed();
  return planned_peak_bytes(moe::apply(scenario.program, schedule), scenario.groups,
                            scenario.routing);
}

TEST(PlanInTraining, WhatRulesGoesOnWhereAPlanNeedsMoreThanTheLimit) {
  const Planned free = plan_after_one("top2", 0);
  ASSERT_FALSE(free.schedule.decisions.empty());
  EXPECT_EQ(free.said, "");
  const std::int64_t needed = peak_bytes(free.schedule);

  EXPECT_EQ(plan_after_one("top2", needed).schedule, free.schedule);
  const Planned sharded = plan_after_one("top2", needed - 1);
  EXPECT_EQ(sharded.said, "");
  EXPECT_LT(peak_bytes(sharded.schedule), needed);
  EXPECT_EQ(moe::decisions_of<moe::ShardOptimizer>(sharded.schedule).size(), 1U);
  EXPECT_EQ(moe::decisions_of<moe::ReplicateExperts>(sharded.schedule),
            moe::decisions_of<moe::ReplicateExperts>(free.schedule));

  const Planned limited = plan_after_one("top2", 1);
  EXPECT_EQ(limited.schedule, moe::Schedule{});
  EXPECT_THAT(limited.said, HasSubstr("a plan of top2 needs "));
}

TEST(PlanInTraining, WhatIsHandedOnGivesThePlanOfWhatWasRead) {
  PlanRequest request;
  request.planner = "joint";
  request.scenario.model = "box-skewed";
  request.scenario.cluster = "box";
  request.scenario.ranks = 4;
  const Scenario read = plan_scenario(request, {"moe.experts=8"});
  const std::string costs = costs_json(read);
  request.scenario.model = request.scenario.cluster = "no/such/file";
  const Scenario handed = plan_scenario(request, read.model, costs);
  const moe::Schedule planned = plan_in_training(request, read)({});
  EXPECT_FALSE(planned.decisions.empty());
  EXPECT_EQ(plan_in_training(request, handed)({}), planned);
  EXPECT_EQ(costs_json(handed), costs);
}

TEST(PlanInTraining, ThoseThatKeepToALimitPlanWithinIt) {
  const std::int64_t unlimited = peak_bytes(plan_after_one("joint", 0).schedule);
  const std::int64_t limit = peak_bytes({}) * 9 / 10;
  ASSERT_GT(unlimited, limit);
  const Planned within = plan_after_one("joint", limit);
  EXPECT_EQ(within.said, "");
  EXPECT_LE(peak_bytes(within.schedule), limit);
}

}  // namespace
}  // namespace tuner::plan_in_training_test
