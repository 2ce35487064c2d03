#include "tuner/study/conclusions.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/query.h"
#include "db/store.h"
#include "tests/db/sample.h"
#include "tuner/study/training_job.h"

namespace tuner::conclusions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct ConclusionsTest : ::testing::Test {
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t study = 0;

  void SetUp() override {
    db::Study row;
    row.name = "s";
    study = db::insert(connection, row);
  }
  std::int64_t add(const std::string& planner, double first_s, double predicted_s,
                   const std::vector<double>& repeats) {
    db::Trial trial = db::sample_trial(connection, study, planner);
    trial.predicted_s = predicted_s;
    trial.first_predicted_s = first_s;
    trial.predicted_deviation_s = 0.05;
    trial.id = db::find_or_insert(connection, trial);
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      db::insert(connection, db::TrialRepeat{trial.id, static_cast<int>(i) + 1, {}, repeats[i], 5});
    }
    trial.status = repeats.empty() ? "failed" : "done";
    if (!repeats.empty()) trial.measured_s = db::median(repeats);
    db::finish_trial(connection, trial);
    return trial.id;
  }
};

TEST_F(ConclusionsTest, AreStoredAndSaid) {
  add("sequential", 2.2, 2.0, {2.0, 2.0, 2.0});
  const auto fsmoe = add("fsmoe", 1.1, 1.1, {1.0, 1.001, 1.002});
  const auto joint = add("joint", 1.0, 1.0, {1.003, 1.002, 1.0});
  const auto failed = add("lancet", 0.5, 0.5, {});
  EXPECT_THAT(
      store_conclusions(connection, study),
      ElementsAre(AllOf(HasSubstr("fastest: fsmoe, 2.00 times as fast as sequential (95%: "),
                        HasSubstr("), tied with joint")),
                  AllOf(HasSubstr("predictions of 3 trials: mean error 6."),
                        HasSubstr("0.1%, which the repeats do not tell from none"))));
  const auto figures = db::load_trial_figures(connection);
  EXPECT_EQ(figures.at(fsmoe).tied_with, "joint");
  EXPECT_EQ(figures.at(joint).tied_with, "fsmoe");
  EXPECT_EQ(figures.at(failed).tied_with, "");
  // 0.1, 1.1 / 1.001 - 1 and 1 / 1.002 - 1, of the first predictions
  const double common = (0.1 + (1.1 / 1.001 - 1) + (1 / 1.002 - 1)) / 3;
  EXPECT_NEAR(figures.at(joint).own_prediction_error.value(), 1 / 1.002 - 1 - common, 1e-12);
  EXPECT_FALSE(figures.at(failed).own_prediction_error);
  db::Query rows(connection,
                 "SELECT study, trials, finished_trials, fastest, tied_with, "
                 "common_prediction_error, kendall_tau, kendall_tau_told_apart, regret, "
                 "within_deviation FROM study_view");
  const auto row = rows.next().value();
  EXPECT_THAT(std::vector<db::Cell>(row.begin(), row.begin() + 5),
              ElementsAre("s", std::int64_t{4}, std::int64_t{3}, "fsmoe", "joint"));
  EXPECT_NEAR(std::get<double>(row[5]), common, 1e-12);
  EXPECT_NEAR(std::get<double>(row[6]), 1 / 3.0, 1e-12);
  EXPECT_EQ(std::get<double>(row[7]), 1);
  EXPECT_NEAR(std::get<double>(row[8]), 1.002 / 1.001 - 1, 1e-12);
  EXPECT_NEAR(std::get<double>(row[9]), 2 / 3.0, 1e-12) << "of the newest predictions";
}

TEST_F(ConclusionsTest, SayWhereTheRegretIsNotTold) {
  constexpr const char* kNotTold = "which the repeats do not tell from none";
  const auto said = [&] { return store_conclusions(connection, study).back(); };
  add("sequential", 2.0, 2.0, {2.0, 2.0, 2.0});
  EXPECT_THAT(said(), AllOf(HasSubstr("predictions of 1 trial: "), Not(HasSubstr(kNotTold))))
      << "the one predicted to be best is";
  add("fsmoe", 1.0, 1.0, {1.5, 1.501, 1.502});
  add("joint", 1.1, 1.1, {1.0, 1.001, 1.002});
  EXPECT_THAT(said(), HasSubstr("regret of choosing by prediction 50.0%"));
  EXPECT_THAT(said(), Not(HasSubstr(kNotTold)));
}

TEST_F(ConclusionsTest, ANewcomerIsComparedWithTheBaselineThatWasTrainedBesideIt) {
  const auto sequential = add("sequential", 4, 4, {52, 3.7});  // first in a disturbed minute
  db::Trial joined = db::sample_trial(connection, study, "fsmoe");
  joined.predicted_s = 3.6;
  joined.id = db::find_or_insert(connection, joined);
  db::insert(connection, db::TrialRepeat{joined.id, 2, {}, 3.62, 5});
  joined.status = "done";
  joined.measured_s = 3.62;
  db::finish_trial(connection, joined);
  store_conclusions(connection, study);
  const auto figures = db::load_trial_figures(connection);
  EXPECT_NEAR(figures.at(sequential).speedup.value(), 1, 1e-9);
  EXPECT_NEAR(figures.at(joined.id).speedup.value(), 3.7 / 3.62, 1e-9);
}

TEST_F(ConclusionsTest, OneRepeatTellsNoRegret) {
  add("fsmoe", 1.0, 1.0, {1.5});
  add("joint", 1.1, 1.1, {1.0});
  EXPECT_THAT(store_conclusions(connection, study).back(),
              HasSubstr("which the repeats do not tell from none"));
}

TEST_F(ConclusionsTest, SpeedUpsAreOfRepeatsInCommon) {
  const auto sequential = add("sequential", 2.0, 2.0, {2.0, 2.0, 2.4, 2.4});
  const auto fsmoe = add("fsmoe", 1.0, 1.0, {1.0, 1.0});
  const auto refined = add("joint", 0.9, 0.9, {});
  db::Trial trial;
  for (db::Trial& each : db::load_trials(connection, study)) {
    if (each.id == refined) trial = each;
  }
  for (const int repeat : {3, 4}) {
    db::insert(connection, db::TrialRepeat{refined, repeat, {}, 1.08, 5});
  }
  trial.status = "done";
  trial.measured_s = 1.08;
  db::finish_trial(connection, trial);
  store_conclusions(connection, study);
  const auto figures = db::load_trial_figures(connection);
  EXPECT_NEAR(figures.at(sequential).speedup.value(), 1, 1e-12);
  EXPECT_NEAR(figures.at(fsmoe).speedup.value(), 2, 1e-9);
  EXPECT_NEAR(figures.at(refined).speedup.value(), 2.4 / 1.08, 1e-9);
  db::Query rows(connection, "SELECT fastest, tied_with, regret FROM study_view");
  EXPECT_EQ(rows.next(), (std::vector<db::Cell>{"joint", {}, 0.0}))
      << "sequential tells joint from fsmoe, which it has no repeat in common with";
}

TEST_F(ConclusionsTest, OfFirstPredictionsLeaveOutWhatARefinementPlanned) {
  add("sequential", 2.2, 2.0, {2.0, 2.0});
  const auto fsmoe = add("fsmoe", 1.1, 1.0, {1.0, 1.001});
  // In the order of first predictions it would stand before fsmoe, since these are all too long.
  const auto refined = add("joint", 0, 1.05, {1.04, 1.04});
  connection.database().exec(
      "UPDATE trial SET first_predicted_s = NULL, parameters_json = '{\"refinement\": 1}' "
      "WHERE first_predicted_s = 0");
  EXPECT_THAT(store_conclusions(connection, study).back(),
              HasSubstr("predictions of 2 trials: mean error 10.0%, worst 10.0%"));
  const auto figures = db::load_trial_figures(connection);
  EXPECT_NEAR(figures.at(fsmoe).own_prediction_error.value(), 0, 1e-3);
  EXPECT_EQ(figures.at(refined).own_prediction_error, std::nullopt);
  db::Query rows(connection,
                 "SELECT finished_trials, kendall_tau, regret, within_deviation FROM study_view");
  EXPECT_EQ(rows.next(), (std::vector<db::Cell>{std::int64_t{3}, 1.0, 0.0, 1.0}));
}

TEST_F(ConclusionsTest, ReplaceThoseOfBefore) {
  add("sequential", 2.0, 2.0, {2.0, 2.0});
  const auto fsmoe = add("fsmoe", 1.1, 1.1, {1.0, 1.001});
  store_conclusions(connection, study);
  const auto joint = add("joint", 1.0, 1.0, {1.001, 1.0});
  store_conclusions(connection, study);
  EXPECT_EQ(db::load_trial_figures(connection).at(fsmoe).tied_with, "joint");
  EXPECT_EQ(db::load_trial_figures(connection).at(joint).tied_with, "fsmoe");
  db::Query rows(connection, "SELECT trials FROM prediction_quality");
  EXPECT_EQ(rows.next(), std::vector<db::Cell>{std::int64_t{3}});
  EXPECT_EQ(rows.next(), std::nullopt);
}

TEST_F(ConclusionsTest, OneRepeatTellsNothingApart) {
  EXPECT_THAT(store_conclusions(connection, study), testing::IsEmpty());
  add("sequential", 2.0, 2.0, {2.0});
  add("fsmoe", 1.0, 1.0, {1.0});
  EXPECT_THAT(store_conclusions(connection, study).front(),
              HasSubstr("fastest: fsmoe, 2.00 times as fast as sequential; one repeat tells no "));
  add("joint", 1.1, 1.1, {1.1});
  store_conclusions(connection, study);
  db::Query rows(connection, "SELECT kendall_tau, kendall_tau_told_apart FROM study_view");
  EXPECT_EQ(rows.next(), (std::vector<db::Cell>{1.0, {}}));
}

db::Trial ended(const std::string& planner, const std::string& status) {
  db::Trial one;
  one.planner = planner;
  one.status = status;
  one.error = "why";
  if (is_no_verdict(status)) {
    one.status = "planned";
    one.failure = status;
  } else if (status != "done" && status != "planned") {
    one.failure = status;
  }
  return one;
}

TEST(NothingCompares, IsAFailureWhereNothingWasMeasured) {
  EXPECT_EQ(why_nothing_compares({ended("sequential", "hung"), ended("tutel", "hung"),
                                  ended("fsmoe", "crashed"), ended("joint", "planned")}),
            "no trial was measured: 1 crashed, 2 hung, 1 planned");
  EXPECT_EQ(why_nothing_compares({}), "no trial was measured: there is none");
}

TEST(NothingCompares, IsAFailureWhereTheBaselineFailed) {
  for (const char* status : {"hung", "crashed", "failed", db::kNotStarted, db::kLostNode}) {
    EXPECT_EQ(why_nothing_compares({ended("sequential", status), ended("tutel", "done")}),
              "the sequential schedule, which all others are compared with, " +
                  std::string(status) + ": why");
  }
}

TEST(NothingCompares, IsNoneWhereTrialsAreCompared) {
  EXPECT_EQ(why_nothing_compares({ended("sequential", "done"), ended("tutel", "hung")}), "");
  for (const char* status : {"infeasible", "out_of_memory"}) {
    EXPECT_EQ(why_nothing_compares({ended("sequential", status), ended("tutel", "done")}), "")
        << "then the fastest is what others are compared with";
  }
}

}  // namespace
}  // namespace tuner::conclusions_test
