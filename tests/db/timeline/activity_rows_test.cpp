#include "db/timeline/activity_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <random>

#include "db/check.h"
#include "db/query.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::activity_rows_test {
namespace {

std::vector<TimelineOp> mixed_ops() {
  const char* const activities[] = {"computation", "communication", "copy", "host"};
  std::vector<TimelineOp> ops(24);
  for (int i = 0; i < 24; ++i) {
    TimelineOp& op = ops[static_cast<std::size_t>(i)];
    op.op = i;
    op.activity = activities[i % 4];
    op.kind = "kind of " + op.activity;
    op.phase = i < 12 ? "forward" : "backward";
    op.layer = i % 3;
    if (op.activity == "communication") op.group_kind = i % 8 == 1 ? "even_boundary" : "expert";
  }
  return ops;
}

/// Computations of a rank one after the other; the other ops lie anywhere.
std::vector<Span> random_spans(std::mt19937& engine, const std::vector<TimelineOp>& ops) {
  std::uniform_real_distribution<double> length(0, 0.1), start(0, 1);
  std::vector<Span> spans;
  for (int rank = 0; rank < 2; ++rank) {
    double computed_s = 0;
    for (const TimelineOp& op : ops) {
      const bool computes = op.activity == "computation";
      const double begin_s = computes ? computed_s + 0.3 * length(engine) : start(engine);
      Span& span = spans.emplace_back(make_span(rank, op.op, begin_s, length(engine), 7));
      span.flops = 3;
      if (computes) computed_s = begin_s + span.duration_s;
      if (op.activity == "communication") span.waiting_s = span.duration_s * start(engine);
    }
  }
  return spans;
}

TEST(TimelineActivity, WhatIsExposedByKindIsWhatNoComputationCovers) {
  Connection connection = open_writer(":memory:");
  std::mt19937 engine(7);
  const std::vector<TimelineOp> ops = mixed_ops();
  for (int draw = 0; draw < 10; ++draw) {
    TimelineInfo timeline;
    timeline.kind = "imported";
    const std::int64_t id = insert(connection, timeline, ops, random_spans(engine, ops));
    // Square in the number of spans, but without any sweep.
    Query differing(
        connection,
        "WITH covered AS (SELECT sent.rank, sent.layer, sent.phase, sent.kind, sent.activity, "
        "  sent.duration_s, sent.bytes, sent.flops, sent.waiting_s, "
        "  CASE WHEN sent.activity = 'communication' THEN sent.duration_s - ifnull((SELECT "
        "    sum(min(beside.end_s, sent.end_s) - max(beside.start_s, sent.start_s)) "
        "    FROM span_view AS beside WHERE beside.timeline = sent.timeline "
        "    AND beside.rank = sent.rank AND beside.activity = 'computation' "
        "    AND beside.start_s < sent.end_s AND beside.end_s > sent.start_s), 0) END AS exposed_s "
        "  FROM span_view AS sent WHERE timeline = ?1), "
        "summed AS (SELECT rank, layer, phase, kind, count(*) AS spans, sum(duration_s) AS busy_s, "
        "  sum(bytes) AS bytes, sum(flops) AS flops, sum(waiting_s) AS waiting_s, "
        "  sum(exposed_s) AS exposed_s FROM covered GROUP BY rank, layer, phase, kind) "
        "SELECT count(*), "
        "  (SELECT count(*) FROM op_activity_view WHERE timeline = ?1), "
        "  max(abs(summed.busy_s - stored.busy_s)), max(abs(summed.exposed_s - stored.exposed_s)), "
        "  max(abs(ifnull(summed.waiting_s, -1) - ifnull(stored.waiting_s, -1))), "
        "  sum(summed.spans = stored.spans AND summed.bytes = stored.bytes "
        "      AND summed.flops = stored.flops), "
        "  min(stored.exposed_transfer_s >= -1e-12 AND stored.exposed_bubble_s >= 0) "
        "FROM summed JOIN op_activity_view AS stored USING (rank, layer, phase, kind) "
        "WHERE stored.timeline = ?1",
        {Cell(id)});
    const auto row = differing.next().value();
    EXPECT_EQ(row[0], row[1]);
    EXPECT_EQ(row[5], row[0]);
    EXPECT_GT(std::get<std::int64_t>(row[0]), 10);
    for (const std::size_t difference : {2, 3, 4}) {
      EXPECT_LT(std::get<double>(row[difference]), 1e-12) << difference;
    }
    EXPECT_EQ(row[6], Cell(std::int64_t{1}));
  }
}

TEST(TimelineActivity, WaitingForAStageIsBubbleAndWaitingForARankIsNot) {
  std::vector<TimelineOp> ops = mixed_ops();
  Span waits = make_span(0, 1, 0, 1), late = make_span(0, 5, 2, 1);
  waits.waiting_s = 0.25, late.waiting_s = 0.5;
  const std::vector<Span> spans{waits, late, make_span(0, 0, 2.25, 0.25)};
  const TimelineActivity activity = activity_of(ops, spans);
  ASSERT_EQ(activity.ranks.size(), 1U);
  EXPECT_DOUBLE_EQ(activity.ranks[0].exposed_s, 1.75);
  EXPECT_DOUBLE_EQ(activity.ranks[0].exposed_bubble_s, 0.25);
  EXPECT_DOUBLE_EQ(activity.ranks[0].exposed_waiting_s, 0.25);
  double bubble_s = 0, waiting_s = 0;
  for (const OpActivity& op : activity.ops) {
    bubble_s += op.exposed_bubble_s.value_or(0);
    waiting_s += op.exposed_waiting_s.value_or(0);
    EXPECT_EQ(op.exposed_s.has_value(), op.activity == "communication");
  }
  EXPECT_DOUBLE_EQ(bubble_s, 0.25);
  EXPECT_DOUBLE_EQ(waiting_s, 0.25);
}

TEST(TimelineActivity, ASpanOfNoOpIsTimeThatIsNotKnown) {
  const std::vector<Span> spans{make_span(0, 99, 0, 1)};
  const TimelineActivity activity = activity_of(mixed_ops(), spans);
  ASSERT_EQ(activity.ranks.size(), 1U);
  EXPECT_EQ(activity.ranks[0].computation_s, 0);
  EXPECT_TRUE(activity.ops.empty());
}

TEST(TimelineActivity, AFileFromBeforeGetsItWhenItIsOpenedForWriting) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  const auto rows = [&] {
    SQLite::Database database(path, SQLite::OPEN_READONLY);
    std::string all;
    SQLite::Statement statement(database,
                                "SELECT group_concat(timeline || ' ' || rank || ' ' || exposed_s), "
                                "(SELECT total(busy_s) FROM op_activity_view) FROM activity_view");
    statement.executeStep();
    return statement.getColumn(0).getString() + " " + statement.getColumn(1).getString();
  };
  {
    auto connection = open_writer(path);
    store_sample(connection);
  }
  const std::string before = rows();
  EXPECT_NE(before, " 0.0");
  {
    auto connection = open_writer(path);
    connection.database().exec("DELETE FROM rank_activity; DELETE FROM op_activity");
    EXPECT_EQ(timelines_without_activity(connection), 2);
    const auto problems = find_problems(connection, 1e9);
    ASSERT_EQ(problems.size(), 1U) << "what an older program wrote";
    EXPECT_NE(problems[0].find("2 timelines"), std::string::npos) << problems[0];
  }
  { open_writer(path); }
  EXPECT_EQ(rows(), before);
  {
    auto connection = open_writer(path);
    connection.database().exec(
        "DROP VIEW activity_view; DROP VIEW op_activity_view; DROP TABLE rank_activity; "
        "DROP TABLE op_activity");
  }
  { open_writer(path); }
  EXPECT_EQ(rows(), before);
}

TEST(TimelineActivity, WhatWasWorkedOutBeforeItWasCutShortStays) {
  Connection connection = open_writer(":memory:");
  store_sample(connection);
  connection.database().exec(
      "DELETE FROM rank_activity; DELETE FROM op_activity;"
      "CREATE TRIGGER cut BEFORE INSERT ON op_activity WHEN NEW.timeline_id = 2 "
      "BEGIN SELECT RAISE(ABORT, 'cut'); END");
  EXPECT_EQ(timelines_without_activity(connection), 2);
  testing::internal::CaptureStdout();  // where the log goes until a program's console is set
  testing::internal::CaptureStderr();
  EXPECT_THROW(add_missing_activity(connection), Error);
  const std::string said =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("how ranks spent their time in 2 timelines that were stored without "
                      "it"),
            std::string::npos)
      << said;
  EXPECT_EQ(timelines_without_activity(connection), 1);
  connection.database().exec("DROP TRIGGER cut");
  add_missing_activity(connection);
  EXPECT_EQ(timelines_without_activity(connection), 0);
}

TEST(TimelineActivity, SpansThatNoProgramStoresLeaveAFileThatOpens) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    store_sample(connection);
    connection.database().exec(
        "DELETE FROM rank_activity; DELETE FROM op_activity;"
        "UPDATE span SET rank = 70 WHERE timeline_id = 1 AND rank = 1");
  }
  const auto connection = open_writer(path);
  EXPECT_EQ(timelines_without_activity(connection), 1);
  Query sums(connection, "SELECT count(*) FROM activity_view");
  EXPECT_EQ(sums.next().value()[0], Cell(std::int64_t{2}));
}

}  // namespace
}  // namespace db::activity_rows_test
