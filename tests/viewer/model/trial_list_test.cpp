#include "viewer/model/trial_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "db/connection.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::trial_list_test {
namespace {

TrialRow row(std::int64_t id, const std::string& planner, std::optional<double> measured_s,
             std::int64_t peak_bytes) {
  TrialRow made;
  made.trial.id = id;
  made.trial.planner = planner;
  made.trial.status = measured_s ? "done" : "planned";
  made.trial.predicted_s = 0.5 + 0.1 * static_cast<double>(id);
  made.trial.measured_s = measured_s;
  made.trial.predicted_peak_bytes = made.trial.measured_peak_bytes = peak_bytes;
  made.study = "a study";
  return made;
}

std::vector<std::int64_t> ids(const std::vector<const TrialRow*>& rows) {
  std::vector<std::int64_t> ids;
  for (const TrialRow* of : rows) ids.push_back(of->trial.id);
  return ids;
}

class TrialListTest : public ::testing::Test {
 protected:
  Catalog catalog{{},
                  {row(1, "tutel", 1.0, 400), row(2, "fsmoe", 1.2, 300), row(3, "joint", 1.1, 500),
                   row(4, "lancet", std::nullopt, 200)},
                  {}};
};

TEST_F(TrialListTest, LeavesOutWhatWasOnlyPlannedUnlessAskedFor) {
  EXPECT_EQ(ids(listed_trials(catalog, {})), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(ids(listed_trials(catalog, {"", false, ""})), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(TrialListTest, TellsWhetherAStudyHasMoreThanPlans) {
  catalog.trials[3].study = "another";  // the one that was only planned
  EXPECT_TRUE(has_trained(catalog, "a study"));
  EXPECT_FALSE(has_trained(catalog, "another"));
  EXPECT_TRUE(has_trained(catalog, "")) << "any study";
  EXPECT_FALSE(has_trained({}, ""));
}

TEST_F(TrialListTest, CountsThePlansThatTheFilterHides) {
  EXPECT_EQ(hidden_planned(catalog, {}), 1U);
  EXPECT_EQ(hidden_text(1), "1 trial was only planned and is hidden");
  EXPECT_EQ(hidden_text(12), "12 trials were only planned and are hidden");
  EXPECT_EQ(hidden_text(0), "");
  EXPECT_EQ(hidden_planned(catalog, {"", false, ""}), 0U) << "they are listed";
  EXPECT_EQ(hidden_planned(catalog, {"joint", true, ""}), 0U) << "no word of it";
}

TEST_F(TrialListTest, FindsAllWordsIgnoringCase) {
  EXPECT_EQ(ids(listed_trials(catalog, {"JOINT done", true, ""})), (std::vector<std::int64_t>{3}));
  EXPECT_TRUE(listed_trials(catalog, {"joint planned", false, ""}).empty());
  EXPECT_TRUE(listed_trials(catalog, {"", false, "another study"}).empty());
}

TEST_F(TrialListTest, SortsByAFigureWithWhatLacksItLast) {
  std::vector<const TrialRow*> rows = listed_trials(catalog, {"", false, ""});
  sort_trials(rows, TrialOrder::measured, false);
  EXPECT_EQ(ids(rows), (std::vector<std::int64_t>{1, 3, 2, 4}));
  sort_trials(rows, TrialOrder::measured, true);
  EXPECT_EQ(ids(rows), (std::vector<std::int64_t>{2, 3, 1, 4}));
  sort_trials(rows, TrialOrder::planner, false);
  EXPECT_EQ(ids(rows), (std::vector<std::int64_t>{2, 3, 4, 1}));
}

TEST_F(TrialListTest, FrontHoldsWhatNoFasterTrialBeatsInMemory) {
  EXPECT_EQ(ids(pareto_front(listed_trials(catalog, {}))), (std::vector<std::int64_t>{1, 2}));
  // The planned one is predicted at 0.9 s with the least memory of all.
  EXPECT_EQ(ids(pareto_front(listed_trials(catalog, {"", false, ""}))),
            (std::vector<std::int64_t>{4}));
}

TEST_F(TrialListTest, TrainLineHasModelRanksLayoutAndSchedule) {
  db::Study study;
  study.model_json = R"({"name": "box-tiny"})";
  study.ranks = 4;
  TrialRow trial = row(1, "tutel", 1.0, 400);
  trial.layout = "dp=1,ep=4,esp=1,tp=1";
  EXPECT_EQ(train_line(trial, study, "s.json"),
            "moe-train --model box-tiny --ranks 4 --layout dp=1,ep=4,esp=1,tp=1 --schedule s.json");
}

TEST_F(TrialListTest, TellsTheErrorOfTheFirstPrediction) {
  db::Trial trial = catalog.trials[0].trial;  // predicted 0.6 s, measured 1 s
  EXPECT_EQ(prediction_error_text(trial), "-40.0%");
  EXPECT_EQ(error_explanation(trial), "");
  trial.first_predicted_s = 1.25;
  EXPECT_EQ(prediction_error_text(trial), "+25.0%");
  EXPECT_EQ(error_explanation(trial),
            "of the first prediction, 1.25 s: costs were fitted to trials since then");
  trial.measured_s.reset();
  EXPECT_EQ(prediction_error_text(trial), "");
  EXPECT_EQ(error_explanation(trial), "");
}

TEST_F(TrialListTest, SaysWhichIsTheFastestAndWhatItIsNotToldFrom) {
  std::vector<const TrialRow*> rows = listed_trials(catalog, {});
  const auto verdict_text = [&](const std::vector<const TrialRow*>& of) {
    return viewer::verdict_text(catalog, of);
  };
  EXPECT_EQ(verdict_text(rows), "Fastest: tutel, 1.00 s.");
  EXPECT_EQ(verdict_text({rows[1], rows[2]}), "Fastest of those shown: joint, 1.10 s.");
  catalog.trials[0].trial.lower_bound_s = 0.8;
  catalog.trials[0].figures.speedup = 1.5;
  catalog.trials[0].figures.speedup_against = "sequential";
  catalog.trials[0].figures.tied_with = R"(joint {"refinement": 1, "order": 2}, fsmoe)";
  EXPECT_EQ(
      verdict_text(rows),
      "Fastest: tutel, 1.00 s, 1.50x as fast as sequential, 1.25x its lower bound. Repeats do "
      "not tell it from joint (refinement 1, order 2); fsmoe.");
  catalog.trials[2].study = "another";
  EXPECT_EQ(verdict_text(rows), "") << "of two studies";
  EXPECT_EQ(verdict_text({}), "");
  EXPECT_EQ(studies_of(rows), (std::vector<std::string>{"a study", "another"}));
}

}  // namespace
}  // namespace viewer::trial_list_test
