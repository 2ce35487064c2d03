#include "tuner/planners/joint/joint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "db/records.h"
#include "moe/errors.h"
#include "tests/another_process.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/scenario/scenario.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner::joint_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Joint : ::testing::Test {
  Scenario scenario = load_scenario(
      {.model = "box-tiny", .cluster = "box", .database = {}, .ranks = 2, .layout = {}});
  Situation situation = scenario.situation();
};

TEST_F(Joint, IsNoWorseThanAnyOtherPlannerAndNoBetterThanItsLowerBound) {
  const moe::Schedule schedule = plan_joint(situation, {}, planners());
  const double joint_s = simulated_s(situation, schedule);
  double best_s = joint_s * 2;
  for (const Planner& planner : planners()) {
    const double seconds = simulated_s(situation, plan_with(planner, situation, {}));
    EXPECT_LE(joint_s, seconds) << planner.name;
    best_s = std::min(best_s, seconds);
  }
  const moe::Program program = moe::apply(situation.program, schedule);
  EXPECT_LE(lower_bound(program, costs_of(situation, program), situation.cluster).seconds(),
            joint_s);
}

TEST_F(Joint, GivesNoLayerMoreChunksThanPlannersMayMake) {
  const auto most_made = [&](int asked) {
    PlannerOptions options;
    options.most_chunks = asked;
    int chunks = 0;
    const moe::Schedule schedule = plan_joint(situation, options, {&planner_named("tutel"), 1});
    for (const moe::Decision& decision : schedule.decisions) {
      const auto* split = std::get_if<moe::PipelineSplit>(&decision);
      if (split) chunks = std::max(chunks, split->chunks);
    }
    return chunks;
  };
  EXPECT_EQ(most_made(2), 2);
  EXPECT_GT(most_made(8), 2) << "more would be faster";
}

TEST_F(Joint, IsNoWorseThanAnyOtherPlannerOverSeveralRoutings) {
  std::vector<moe::Routing> routings;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    routings.push_back(make_routing("zipf:1.2", scenario.program, scenario.groups, seed));
  }
  scenario.routing = routings[2];
  Situation several = scenario.situation();
  several.routings = routings;
  PlannerOptions options;
  options.most_chunks = 3;
  const moe::Schedule joint = plan_joint(several, options, planners());
  const std::vector<double> joint_s = simulated_iterations_s(several, joint);
  double best_s = std::numeric_limits<double>::infinity(), worst_of_best_s = 0;
  for (const Planner& planner : planners()) {
    if (planner.name == "joint") continue;
    for (const Candidate& one : candidates_of(planner, several, options)) {
      const std::vector<double> seconds = simulated_iterations_s(several, one.schedule);
      EXPECT_LE(joint_s[median_place(joint_s)], seconds[median_place(seconds)]) << planner.name;
      if (seconds[median_place(seconds)] < best_s) {
        best_s = seconds[median_place(seconds)];
        worst_of_best_s = std::ranges::max(seconds);
      }
    }
  }
  EXPECT_LE(std::ranges::max(joint_s), worst_of_best_s);

  // Of one routing alone, the plan is for that one.
  const Situation alone = scenario.situation();
  EXPECT_NE(plan_joint(alone, options, planners()).decisions,
            plan_joint(several, options, planners()).decisions);
}

TEST_F(Joint, LeavesOutPlannersThatRefuseAndPassesOnBugsWithTheirNames) {
  const std::vector<Planner> refusing{
      planner_named(db::kSequential),
      {.name = "refusing",
       .description = "plans nothing",
       .plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
         throw moe::Refusal("refusing", "not here", "expected another model");
       }}};
  const std::vector<Planner> sequential(refusing.begin(), refusing.begin() + 1);
  PlannerOptions few;
  few.asked[kMostTried.key] = 1;
  EXPECT_EQ(plan_joint(situation, few, refusing), plan_joint(situation, few, sequential));

  std::vector<Planner> broken = refusing;
  broken[1].name = "broken";
  broken[1].plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
    throw std::invalid_argument("bug");
  };
  EXPECT_THAT([&] { plan_joint(situation, few, broken); },
              ThrowsMessage<std::logic_error>("planner broken: bug"));
}

TEST_F(Joint, IsTheSameInEveryProcess) {
  const auto plan = [&] { return moe::to_json(plan_joint(situation, {}, planners())); };
  EXPECT_EQ(moelab::test::in_another_process(plan), plan());
}

TEST_F(Joint, KeepsToTheMemoryOfARank) {
  const auto peak = [&](const moe::Schedule& schedule) {
    return planned_peak_bytes(moe::apply(situation.program, schedule), situation.groups,
                              situation.routing);
  };
  const std::int64_t least = peak({});
  scenario.cluster.memory_bytes = least;
  const Situation tight = scenario.situation();
  EXPECT_LE(peak(plan_joint(tight, {}, planners())), least);
}

TEST_F(Joint, ShardsTheOptimizerWhereNothingElseFits) {
  const auto peak = [&](const moe::Schedule& schedule) {
    return planned_peak_bytes(moe::apply(situation.program, schedule), situation.groups,
                              situation.routing);
  };
  std::int64_t least = peak({});
  for (const Planner& planner : planners()) {
    if (planner.name == "joint") continue;
    for (const Candidate& one : candidates_of(planner, situation, {})) {
      least = std::min(least, peak(one.schedule));
    }
  }
  scenario.cluster.memory_bytes = least - 1;
  const Situation tight = scenario.situation();
  const moe::Schedule schedule = plan_joint(tight, {}, planners());
  EXPECT_LT(peak(schedule), least);
  EXPECT_EQ(moe::decisions_of<moe::ShardOptimizer>(schedule).size(), 1);
}

TEST_F(Joint, SaysSoWhereNothingFitsAndTakesLeastMemory) {
  const auto peak = [&](const moe::Schedule& schedule) {
    return planned_peak_bytes(moe::apply(situation.program, schedule), situation.groups,
                              situation.routing);
  };
  scenario.cluster.memory_bytes = 1;
  const Situation none = scenario.situation();
  const moe::Schedule schedule = plan_joint(none, {}, planners());
  EXPECT_EQ(schedule.planner, "joint");
  EXPECT_LT(peak(schedule), peak({}));
  for (const Candidate& one : candidates_of(planner_named("mpmoe_pm"), none, {})) {
    EXPECT_LE(peak(schedule), peak(one.schedule));
  }
  EXPECT_THAT(joint_remark(none, {}, schedule),
              HasSubstr("no schedule that it knows fits the 1 B of a rank's memory"));
}

TEST_F(Joint, SaysWhatEachOfItsDecisionsBrought) {
  const moe::Schedule schedule = plan_joint(situation, {}, planners());
  const std::string remark = joint_remark(situation, {}, schedule);
  EXPECT_THAT(remark, HasSubstr("above its lower bound of"));
  EXPECT_THAT(remark, HasSubstr("without streams: "));
}

}  // namespace
}  // namespace tuner::joint_test
