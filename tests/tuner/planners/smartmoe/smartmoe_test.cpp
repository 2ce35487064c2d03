#include "tuner/planners/smartmoe/smartmoe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::smartmoe_test {
namespace {

using test::SkewedSituation;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(SmartMoe, MovesHomesAloneAndLowersTheLargestLoadOfEveryLayerThatItMoves) {
  for (const moe::Layout& layout :
       {moe::Layout{1, 4, 1}, moe::Layout{2, 2, 1}, moe::Layout{1, 2, 2}}) {
    const SkewedSituation skewed(layout);
    const moe::Schedule schedule = plan_smartmoe_greedy(skewed.situation, {});
    const auto decisions = moe::decisions_of<moe::PlaceExperts>(schedule);
    EXPECT_FALSE(decisions.empty());
    EXPECT_EQ(decisions.size(), schedule.decisions.size());
    for (const moe::PlaceExperts& decision : decisions) {
      const auto& routing = moe::layer_of(skewed.routing, {decision.layer, 0, 0});
      const auto most = [&](const moe::ExpertPlacement& placement) {
        return std::ranges::max(placed_loads(routing, skewed.groups, placement).computed);
      };
      EXPECT_LT(most({{}, moe::RowsOfOthers::home, decision.homes}), most({}));
    }
    EXPECT_LT(placed_iteration_s(skewed.situation, schedule, Transfers::blocking),
              placed_iteration_s(skewed.situation, {}, Transfers::blocking));
    EXPECT_LT(simulated_s(skewed.situation, schedule), simulated_s(skewed.situation, {}));
  }
  const SkewedSituation even(moe::Layout{1, 4, 1}, "uniform");
  EXPECT_THAT(plan_smartmoe_greedy(even.situation, {}).decisions, IsEmpty());
}

TEST(SmartMoe, GoesOnFromWhereExpertsAre) {
  SkewedSituation skewed;
  const moe::Schedule first = plan_smartmoe_greedy(skewed.situation, {});
  Situation again = skewed.situation;
  again.homes_now = homes_under(first);
  const moe::Schedule second = plan_smartmoe_greedy(again, {});
  EXPECT_EQ(second, first) << "what is best already stays";
  EXPECT_EQ(move_cost(again, homes_under(second)).experts, 0);
  EXPECT_GT(move_cost(skewed.situation, homes_under(first)).experts, 0);
  // Even loads give no reason to move back.
  const SkewedSituation even(moe::Layout{1, 4, 1}, "uniform");
  Situation evened = even.situation;
  evened.homes_now = homes_under(first);
  EXPECT_EQ(plan_smartmoe_greedy(evened, {}), first);
}

TEST(SmartMoe, MovesWhereThatPaysForItselfWhileThePlanRules) {
  SkewedSituation skewed;
  const moe::Schedule for_ever = plan_smartmoe_greedy(skewed.situation, {});
  double gain_s = placed_iteration_s(skewed.situation, {}, Transfers::blocking) -
                  placed_iteration_s(skewed.situation, for_ever, Transfers::blocking);
  const double move_s = move_cost(skewed.situation, homes_under(for_ever)).seconds;
  ASSERT_GT(move_s, gain_s) << "one iteration does not pay for it";
  PlannerOptions options;
  options.iterations = 1;
  EXPECT_THAT(plan_smartmoe_greedy(skewed.situation, options).decisions, IsEmpty());
  options.iterations = 1'000'000;
  EXPECT_EQ(plan_smartmoe_greedy(skewed.situation, options), for_ever);
}

TEST(SmartMoe, SaysWhatItMovesAndWhatThatCosts) {
  const SkewedSituation skewed;
  const moe::Schedule schedule = plan_smartmoe_greedy(skewed.situation, {});
  EXPECT_THAT(placement_remark(skewed.situation, {}, schedule),
              AllOf(HasSubstr("experts moved for good"), HasSubstr("across nodes"),
                    HasSubstr("times the mean")));
  const auto candidates = smartmoe_greedy_candidates(skewed.situation, {});
  ASSERT_THAT(candidates, SizeIs(1));
  EXPECT_EQ(candidates[0].schedule, schedule);
  EXPECT_THAT(candidates[0].parameters_json, HasSubstr("experts_moved"));
}

}  // namespace
}  // namespace tuner::smartmoe_test
