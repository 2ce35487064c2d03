#include "tuner/study/chosen_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/study/study.h"

namespace tuner::chosen_trials_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> ids_of(const std::vector<db::Trial>& trials) {
  std::vector<std::int64_t> ids;
  for (const db::Trial& trial : trials) ids.push_back(trial.id);
  return ids;
}

TEST(ChosenTrials, AreSequentialAndTheBestThatHaveNotFailed) {
  std::vector<db::Trial> trials;
  const auto add = [&](const char* planner, double predicted_s, const char* status) {
    db::Trial& trial = trials.emplace_back();
    trial.id = static_cast<std::int64_t>(trials.size());
    trial.planner = planner;
    trial.predicted_s = predicted_s;
    trial.status = status;
  };
  add("tutel", 3, "planned");
  add("sequential", 9, "planned");
  add("fsmoe", 1, "failed");
  add("fsmoe", 4, "done");
  add("tutel", 2, "planned");
  add("lancet", 1, "infeasible");
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopAll, {})), ElementsAre(2, 5, 1, 4));
  EXPECT_THAT(ids_of(chosen_trials(trials, 1, {})), ElementsAre(2, 5));
  EXPECT_THAT(ids_of(chosen_trials(trials, 100, {})), ElementsAre(2, 5, 1, 4));
  trials[1].status = "infeasible";
  EXPECT_THAT(ids_of(chosen_trials(trials, 1, {})), ElementsAre(5)) << "sequential takes no place";
  trials[1].status = "planned";
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopOfEachPlanner, {})), ElementsAre(2, 5, 4));
  trials[0].also_planned_by = "pmoe, fsmoe";
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopOfEachPlanner, {})), ElementsAre(2, 5, 1))
      << "pmoe's best is fsmoe's";
  trials[1].also_planned_by = "fsmoe";
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopOfEachPlanner, {})), ElementsAre(2, 5, 1))
      << "fsmoe has a better one than sequential's";
  trials[0].also_planned_by.clear();
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopOfEachPlanner, {})), ElementsAre(2, 5, 4));
  trials[0].predicted_s.reset();
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopAll, {})), ElementsAre(2, 5, 4, 1));
  add("fsmoe", 3, "planned");
  EXPECT_THAT(ids_of(chosen_trials(trials, kTopOfEachPlanner, 4)), ElementsAre(2, 5, 7, 4))
      << "what was measured fastest is trained beside what is predicted to be better now";
  EXPECT_THAT(ids_of(chosen_trials(trials, 1, 4)), ElementsAre(2, 5, 4));
}

}  // namespace
}  // namespace tuner::chosen_trials_test
