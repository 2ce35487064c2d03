#include "tuner/compare/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "db/load.h"
#include "db/store.h"
#include "tests/db/sample.h"
#include "tuner/compare/compared_trials.h"

namespace tuner::turns_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct MeasuredTurnsTest : ::testing::Test {
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t trial = 0;

  void SetUp() override {
    db::Study study;
    study.name = "s";
    const db::Trial row = db::sample_trial(connection, db::insert(connection, study), "sequential");
    trial = db::find_or_insert(connection, row);
  }
  /// A repeat whose run has these iterations; with none, it has no run.
  void add_repeat(int number, double median_s, const std::vector<double>& iterations_s) {
    db::TrialRepeat repeat{trial, number, {}, median_s, static_cast<int>(iterations_s.size())};
    if (!iterations_s.empty()) {
      repeat.run_id = db::begin_run(connection, db::sample_run(0), db::sample_machine());
    }
    for (std::size_t i = 0; i < iterations_s.size(); ++i) {
      db::Iteration one;
      one.run_id = *repeat.run_id;
      one.iteration = static_cast<int>(i) + 1;
      one.duration_s = iterations_s[i];
      db::insert(connection, std::span<const db::Iteration>(&one, 1));
    }
    db::insert(connection, repeat);
  }
};

TEST_F(MeasuredTurnsTest, AreTheIterationsAfterTheWarmUpOfAllRepeats) {
  add_repeat(1, 1.4, {9, 8, 1.4, 1.0, 1.5});
  add_repeat(2, 1.05, {9, 8, 1.1, 1.0});
  const Turns turns = measured_turns(connection, db::load_trial_repeats(connection, trial));
  EXPECT_THAT(turns, ElementsAre(Pair(1, ElementsAre(Pair(3, 1.4), Pair(4, 1.0), Pair(5, 1.5))),
                                 Pair(2, ElementsAre(Pair(3, 1.1), Pair(4, 1.0)))));
  EXPECT_EQ(median_s(turns), 1.1) << "the mean of the repeats' medians is 1.225";
}

TEST_F(MeasuredTurnsTest, ARepeatWithoutIterationsAfterTheWarmUpIsOneTurn) {
  add_repeat(1, 1.4, {});
  add_repeat(2, 1.2, {1.3, 1.1});
  add_repeat(3, 0, {});
  EXPECT_THAT(measured_turns(connection, db::load_trial_repeats(connection, trial)),
              ElementsAre(Pair(1, ElementsAre(Pair(0, 1.4))), Pair(2, ElementsAre(Pair(0, 1.2)))));
}

TEST_F(MeasuredTurnsTest, OfAStudyAreThoseOfItsTrialsThatHaveEndedAndHaveSome) {
  const std::int64_t study = db::load_trial(connection, trial).study_id;
  add_repeat(1, 1.4, {});
  EXPECT_TRUE(compared_trials(connection, study).trials.empty()) << "it has not ended";
  db::Trial ended = db::load_trial(connection, trial);
  ended.status = "done";
  db::finish_trial(connection, ended);
  const ComparedTrials all = compared_trials(connection, study);
  ASSERT_EQ(all.trials.size(), 1u);
  EXPECT_EQ(all.trials[0].id, trial);
  EXPECT_EQ(all.sequential, 0u);
  EXPECT_EQ(all.comparison.seconds[0], 1.4);
  EXPECT_TRUE(
      compared_trials(connection, study, [](const db::Trial&) { return false; }).trials.empty());
}

}  // namespace
}  // namespace tuner::turns_test
