#include "moe/train/planning.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>

namespace moe::planning_test {
namespace {

/// A schedule that says from which iteration it was planned.
std::optional<Schedule> named(const SeenIteration& seen) {
  return Schedule{std::to_string(seen.iteration), {}};
}

TEST(Planning, BetweenIterationsRulesTheNextWhichWaitsForAllOfIt) {
  Planning planning(
      [](const SeenIteration& seen) { return seen.iteration == 2 ? std::nullopt : named(seen); },
      PlanningTurn::between);
  EXPECT_EQ(planning.after({1, 0, {}})->planner, "1");
  EXPECT_FALSE(planning.after({2, 0, {}}));
  EXPECT_EQ(planning.after({3, 0, {}})->planner, "3");
  EXPECT_EQ(planning.time().plans, 2);
  EXPECT_GE(planning.time().exposed_s, planning.time().total_s);
}

TEST(Planning, BesideIterationsIsThereAnIterationLaterWhoeverIsFaster) {
  std::promise<void> seen_first;
  Planning planning(
      [&](const SeenIteration& seen) {
        if (seen.iteration == 1) seen_first.get_future().wait();
        return named(seen);
      },
      PlanningTurn::beside);
  EXPECT_FALSE(planning.after({1, 0, {}})) << "nobody waits for the plan";
  EXPECT_EQ(planning.time().plans, 0);
  seen_first.set_value();
  EXPECT_EQ(planning.after({2, 0, {}})->planner, "1");
  EXPECT_EQ(planning.after({3, 0, {}})->planner, "2");
  EXPECT_EQ(planning.time().plans, 2);
}

TEST(Planning, ThrowsWhatThePlannerThrowsWhenItsPlanIsDue) {
  Planning planning(
      [](const SeenIteration&) -> std::optional<Schedule> { throw std::runtime_error("no plan"); },
      PlanningTurn::beside);
  EXPECT_NO_THROW(planning.after({1, 0, {}}));
  EXPECT_THROW(planning.after({2, 0, {}}), std::runtime_error);
}

TEST(Planning, BesideAnIterationKnowsWhatRulesNextAndBeginsNoPlanThatRulesNothing) {
  std::vector<int> asked;
  Planning planning(
      [&](const SeenIteration& seen) {
        asked.push_back(seen.iteration);
        EXPECT_EQ(seen.in_force.planner, seen.iteration == 1 ? "first" : "1");
        return named(seen);
      },
      PlanningTurn::beside, 4);
  EXPECT_EQ(planning.after({1, 0, {}, {"first", {}}}), std::nullopt);
  EXPECT_EQ(planning.after({2, 0, {}, {"first", {}}})->planner, "1") << "in force in iteration 3";
  EXPECT_EQ(planning.after({3, 0, {}, {"1", {}}})->planner, "2")
      << "in force in iteration 4, the last";
  EXPECT_EQ(asked, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace moe::planning_test
