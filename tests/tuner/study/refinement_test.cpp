#include "tuner/study/refinement.h"

#include <gtest/gtest.h>

#include <span>

#include "db/identity.h"
#include "db/load.h"
#include "db/prune.h"
#include "db/store.h"

namespace tuner::refinement_test {
namespace {

struct Refinement : ::testing::Test {
  db::Connection connection = db::open_writer(":memory:");
  db::Study study = [this] {
    db::Study begun;
    begun.name = "s";
    begun.id = db::insert(connection, begun);
    return begun;
  }();

  /// A finished trial that was trained once, with spans. Returns the run.
  std::int64_t measured(double predicted_s, double measured_s) {
    const std::int64_t run_id =
        db::begin_run(connection, db::this_run("train", "", 0, nullptr), db::Machine{});
    db::Schedule schedule;
    schedule.json = "{\"n\": " + std::to_string(run_id) + "}";
    db::Trial trial;
    trial.study_id = study.id;
    trial.planner = "tutel";
    trial.schedule_id = db::find_or_insert(connection, schedule);
    trial.id = db::find_or_insert(connection, trial);
    trial.status = "done";
    trial.predicted_s = predicted_s;
    trial.measured_s = measured_s;
    db::finish_trial(connection, trial);
    db::insert(connection, db::TrialRepeat{trial.id, 1, run_id, measured_s, 3});
    add_timeline(run_id, trial.id);
    return run_id;
  }

  void add_timeline(std::int64_t run_id, std::int64_t trial_id) {
    db::TimelineInfo timeline;
    timeline.run_id = run_id;
    timeline.trial_id = trial_id;
    timeline.kind = db::kMeasured;
    db::TimelineOp op;
    op.activity = "computation";
    db::Span span;
    span.duration_s = 1;
    db::insert(connection, timeline, std::span(&op, 1), std::span(&span, 1));
  }
};

TEST_F(Refinement, TakesTheRunsOfAllFinishedTrials) {
  EXPECT_TRUE(runs_of_next_refinement(connection, study).empty());
  const std::int64_t first = measured(1, 1), second = measured(1, 2);
  EXPECT_EQ(runs_of_next_refinement(connection, study), (std::vector{first, second}));
}

TEST_F(Refinement, GoesOnOnlyWhereTheLastOneFoundAFasterTrial) {
  const std::int64_t first = measured(1, 1);
  add_refinement(study, {first});
  EXPECT_TRUE(runs_of_next_refinement(connection, study).empty()) << "nothing was measured since";
  const std::int64_t slower = measured(1, 1.1);
  EXPECT_TRUE(runs_of_next_refinement(connection, study).empty());
  const std::int64_t faster = measured(1, 0.9);
  EXPECT_EQ(runs_of_next_refinement(connection, study), (std::vector{first, slower, faster}));
  add_refinement(study, {first, slower, faster});
  EXPECT_EQ(refinements_of(study), (Refinements{{first}, {first, slower, faster}}));
  EXPECT_TRUE(runs_of_next_refinement(connection, study).empty());
}

TEST_F(Refinement, LeavesRunsOutWhoseSpansWereRemoved) {
  const std::int64_t first = measured(1, 1);
  const db::Trial trial = db::load_trials(connection, study.id).at(0);
  const std::int64_t second =
      db::begin_run(connection, db::this_run("train", "", 0, nullptr), db::Machine{});
  db::insert(connection, db::TrialRepeat{trial.id, 2, second, 1, 3});
  add_timeline(second, trial.id);
  EXPECT_EQ(runs_of_next_refinement(connection, study), (std::vector{first, second}));
  db::prune_timelines(connection, 1);
  EXPECT_EQ(runs_of_next_refinement(connection, study), (std::vector{second}));
  db::prune_timelines(connection, 0);
  EXPECT_TRUE(runs_of_next_refinement(connection, study).empty());
}

TEST_F(Refinement, SaysHowFarPredictionsAreFromWhatWasMeasured) {
  EXPECT_EQ(predicted_within({}), "");
  db::Trial right, wrong, planned;
  right.status = wrong.status = "done";
  planned.status = "planned";
  right.predicted_s = wrong.predicted_s = planned.predicted_s = 1;
  right.measured_s = 1;
  wrong.measured_s = 0.8;
  EXPECT_EQ(predicted_within({right, wrong, right, planned}), "within 0.0% (median; worst 25.0%)");
}

}  // namespace
}  // namespace tuner::refinement_test
