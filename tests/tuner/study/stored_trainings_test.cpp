#include "tuner/study/stored_trainings.h"

#include <gtest/gtest.h>

#include <vector>

#include "db/store.h"
#include "tests/db/sample.h"

namespace tuner::stored_trainings_test {
namespace {

class TrainingStarts : public ::testing::Test {
 protected:
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t machine = db::find_or_insert(connection, db::sample_machine());
  db::Study study;

  TrainingStarts() {
    const db::Run run = db::sample_run(machine);
    study.model_json = run.model_json;
    study.ranks = run.ranks;
    study.created_at = 1000;
  }
  void add(double started_at, double finished_at, const std::vector<double>& iterations_s) {
    db::Run run = db::sample_run(machine);
    run.kind = "train";
    run.status = "done";
    run.started_at = started_at;
    run.finished_at = finished_at;
    const std::int64_t id = db::insert(connection, run);
    std::vector<db::Iteration> rows;
    for (const double seconds : iterations_s) {
      db::Iteration& row = rows.emplace_back();
      row.run_id = id;
      row.iteration = static_cast<int>(rows.size());
      row.duration_s = seconds;
    }
    db::insert(connection, rows);
  }
};

TEST_F(TrainingStarts, AreWhatATrainingTakesBesideItsIterations) {
  EXPECT_EQ(seconds_beside_iterations(connection, study), 0) << "nothing was trained";
  add(900, 999, {1});  // before the study
  EXPECT_DOUBLE_EQ(seconds_beside_iterations(connection, study), 98) << "it has none of its own";
  add(2000, 2012, {5, 5});
  EXPECT_DOUBLE_EQ(seconds_beside_iterations(connection, study), 2);
}

TEST_F(TrainingStarts, RanksStartBetweenTheEndOfOneAndTheBeginOfTheNext) {
  // Two schedules took turns: one training. Its ranks began 3 s after the one before had ended.
  add(2000, 2012, {5, 5});
  add(2015, 2026, {2, 2});
  add(2015.1, 2026.1, {3, 3});
  add(2029, 2041, {10});
  add(9000, 9012, {10});  // after a pause
  EXPECT_NEAR(seconds_beside_iterations(connection, study), (2 + 4.1) / 2, 1e-6);
}

}  // namespace
}  // namespace tuner::stored_trainings_test
