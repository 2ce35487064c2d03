#include "viewer/model/session.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "db/error.h"
#include "db/store.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::session_test {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  Session open(const Start& start) const { return open_session(connection, start); }

  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
};

TEST_F(SessionTest, OpensOnTheLatestRunWithATimeline) {
  const Session session = open({});
  EXPECT_EQ(session.selected_run, ids.study_run);
  EXPECT_EQ(session.timelines.size(), 2U);
  EXPECT_EQ(session.problem, "");
}

TEST_F(SessionTest, OpensTheRunAndTheTimelinesThatAreAskedFor) {
  Start start;
  start.run = ids.sequential_run;
  EXPECT_EQ(open(start).run.iterations.size(), 200U);
  start.timelines = {1, 3, 2};
  EXPECT_EQ(open(start).stacked, start.timelines);
}

TEST_F(SessionTest, AStudyShowsTheLoadsOfItsFastestTrial) {
  EXPECT_TRUE(open({}).run.loads.empty()) << "nothing was trained for it";
  db::insert(connection, db::TrialRepeat{ids.best_trial, 1, ids.pipelined_run, 0.2, 200});
  Start start;
  start.run = ids.study_run;
  Session session = open(start);
  EXPECT_EQ(session.selected_run, ids.study_run);
  EXPECT_EQ(session.run.run_id, ids.pipelined_run);
  EXPECT_FALSE(session.run.loads.empty());
  reload(session);
  EXPECT_EQ(session.run.run_id, ids.pipelined_run);
}

TEST_F(SessionTest, AClockThatWasNotComparedIsNotKnown) {
  db::RunRank row;
  row.run_id = ids.sequential_run;
  row.clock_offset_s = 0, row.clock_error_s = 2e-6;
  const auto add_rank = [&] { db::insert(connection, std::span<const db::RunRank>(&row, 1)); };
  connection.database().exec("DELETE FROM run_rank");
  EXPECT_EQ(clock_error_s(open({}), row.run_id), std::nullopt);
  add_rank();
  EXPECT_EQ(clock_error_s(open({}), row.run_id), 2e-6);
  row.rank = 1;
  row.clock_offset_s.reset(), row.clock_error_s.reset();
  add_rank();
  EXPECT_EQ(clock_error_s(open({}), row.run_id), std::nullopt);
}

TEST_F(SessionTest, AnIdThatIsNotThereIsRefused) {
  Start start;
  start.run = 999;
  EXPECT_THROW(open(start), db::Error);
  start = {};
  start.timelines = {1, 999};
  EXPECT_THROW(open(start), db::Error);
}

TEST_F(SessionTest, ATrialIsStackedBelowTheSequentialOne) {
  Session session = open({});
  const int before = session.stack_changes;
  select_trial(session, ids.best_trial);
  EXPECT_EQ(session.timelines.size(), 3U);
  EXPECT_GT(session.stack_changes, before);
}

TEST_F(SessionTest, ATrialsRunIsTheRepeatWhoseTimelineIsShown) {
  // A later repeat, which has no timeline.
  db::insert(connection, db::TrialRepeat{ids.best_trial, 1, ids.failed_run, 0.2, 200});
  Session session = open({});
  select_trial(session, ids.best_trial);
  std::optional<std::int64_t> shown;
  for (const auto& [id, timeline] : session.timelines) {
    const db::TimelineInfo& info = timeline.info;
    if (info.trial_id == ids.best_trial && info.kind == "measured") shown = info.run_id;
  }
  ASSERT_TRUE(shown);
  EXPECT_EQ(session.selected_run, *shown);
  EXPECT_NE(session.selected_run, ids.failed_run);
  EXPECT_EQ(session.run.repeats.size(), 1U) << "the other repeat's steps are there too";
}

TEST_F(SessionTest, TheTimelineBesideIsLoadedOnceAndForgottenWithTheStack) {
  Session session = open({});
  const db::TimelineInfo& info = session.timelines.at(session.stacked.back()).info;
  const Timeline* beside = load_beside(session, info);
  ASSERT_NE(beside, nullptr);
  EXPECT_EQ(beside->info.kind, "predicted");
  EXPECT_EQ(load_beside(session, info), beside);
  reload(session);
  EXPECT_EQ(load_beside(session, info), beside) << "it has not changed";
  session.stacked.clear();
  load_stack(session);
  EXPECT_TRUE(session.beside.empty());
}

TEST_F(SessionTest, ReloadSeesWhatWasWrittenMeanwhile) {
  Start start;
  start.run = ids.sequential_run;
  Session session = open(start);
  db::Iteration next;
  next.run_id = ids.sequential_run;
  next.iteration = 200;
  db::insert(connection, std::span(&next, 1));
  EXPECT_EQ(session.run.iterations.size(), 200U);
  reload(session);
  EXPECT_EQ(session.run.iterations.size(), 201U);
  EXPECT_EQ(session.timelines.size(), 2U);
}

TEST_F(SessionTest, WhatWasWorkedOutStaysUntilATimelineIsAnother) {
  Start start;
  start.run = ids.sequential_run;
  Session session = open(start);
  const int stack = session.stack_changes, catalog = session.catalog_changes;
  reload(session);
  EXPECT_EQ(session.stack_changes, stack) << "the timelines are the same";
  EXPECT_EQ(session.catalog_changes, catalog + 1);
  connection.database().exec("UPDATE timeline SET duration_s = duration_s * 2");
  reload(session);
  EXPECT_GT(session.stack_changes, stack);
  EXPECT_EQ(session.timelines.size(), 2U);
}

TEST_F(SessionTest, AnEmptyDatabaseHasNothingToShow) {
  const db::Connection empty = db::open_writer(":memory:");
  const Session session = open_session(empty, {});
  EXPECT_EQ(session.selected_run, 0);
  EXPECT_TRUE(session.stacked.empty());
}

}  // namespace
}  // namespace viewer::session_test
