#include "tuner/study/training_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::training_plan_test {
namespace {

using ::testing::ElementsAre;

TEST(TrainingPlan, ARoundIsCutIntoTrainingsThatAKillMayLose) {
  // Of 10 iterations each: 300, 250, 100 and 900 s.
  const TrainingTimes times{{30, 25, 10, 90}, 10, 5, true};
  EXPECT_THAT(trainings_of({1, {0, 1, 2, 3}}, times),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3)));
  const std::vector<std::size_t> both{0, 1};
  EXPECT_DOUBLE_EQ(training_s(both, times), 5 + 300 + 250);
  TrainingTimes alone = times;
  alone.in_turns = false;
  EXPECT_EQ(trainings_of({1, {0, 1, 2}}, alone).size(), 3u);
}

TEST(TrainingPlan, TellsTheRunsThatAreLeftAndHowLongTheyTake) {
  // Two repeats of two trials, in turns: 2 trainings of 5 + 10 (3 + 2) seconds.
  const TrainingTimes times{{3, 2}, 10, 5, true};
  PlannedRuns plan = planned_runs({{}, {}}, 0, 2, times);
  EXPECT_THAT(plan.of_trial, ElementsAre(2, 2));
  EXPECT_EQ(plan.runs, 4);
  EXPECT_EQ(plan.trainings, 2);
  EXPECT_DOUBLE_EQ(plan.seconds, 2 * (5 + 50));
  plan = planned_runs({{{1, {{0, 3.1}}}}, {{1, {{0, 1.9}}}}}, 0, 2, times);
  EXPECT_EQ(plan.runs, 2);
}

TEST(TrainingPlan, ANewcomerBringsRunsOfTheBaseline) {
  const TrainingTimes times{{3, 2, 2}, 10, 0, true};
  const PlannedRuns plan = planned_runs({{{1, {{0, 3}}}}, {{1, {{0, 2}}}}, {}}, 0, 1, times);
  EXPECT_THAT(plan.of_trial, ElementsAre(1, 1, 1)) << "sequential and the fastest beside it";
}

TEST(TrainingPlan, SaysTimesAsPeopleDo) {
  EXPECT_EQ(about_so_long(45), "45 s");
  EXPECT_EQ(about_so_long(720), "12 min");
  EXPECT_EQ(about_so_long(12'600), "3.5 h");
}

}  // namespace
}  // namespace tuner::training_plan_test
