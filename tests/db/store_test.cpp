#include "db/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "db/load.h"
#include "db/query.h"
#include "tests/db/full_sample.h"

namespace db::store_test {
namespace {

class Store : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");

  std::int64_t count(const std::string& table) const {
    SQLite::Statement statement(connection.database(), "SELECT count(*) FROM " + table);
    statement.executeStep();
    return statement.getColumn(0).getInt64();
  }
  void expect_invalid(const std::function<void()>& action, const std::string& part) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::invalid);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
};

TEST_F(Store, EqualMachinesShareOneRow) {
  const auto first = find_or_insert(connection, sample_machine("a"));
  EXPECT_EQ(find_or_insert(connection, sample_machine("a")), first);
  EXPECT_NE(find_or_insert(connection, sample_machine("b")), first);
  EXPECT_EQ(count("machine"), 2);
}

TEST_F(Store, EqualSchedulesShareOneRow) {
  Schedule schedule;
  schedule.planner = "tutel";
  schedule.json = R"({"chunks":2})";
  const auto first = find_or_insert(connection, schedule);
  schedule.planner = "pipemoe";
  EXPECT_EQ(find_or_insert(connection, schedule), first);
  schedule.json = R"({"chunks":4})";
  EXPECT_NE(find_or_insert(connection, schedule), first);
  EXPECT_EQ(load_schedule(connection, first).hash, content_hash(R"({"chunks":2})"));
}

TEST_F(Store, SchedulesOfEqualDecisionsShareOneRowWhoeverMadeThem) {
  const auto first = find_or_insert(
      connection, Schedule{0, "", "tutel", R"({"planner":"tutel","chunks":2,"streams":[]})"});
  const auto second = find_or_insert(
      connection, Schedule{0, "", "lina", R"({ "streams": [], "chunks": 2, "planner": "lina" })"});
  EXPECT_EQ(second, first);
  EXPECT_EQ(load_schedule(connection, first).planner, "tutel");
  EXPECT_EQ(decisions_hash(R"({"chunks":2})"), decisions_hash(R"({"planner":"x","chunks":2})"));
  EXPECT_NE(decisions_hash(R"({"chunks":2})"), decisions_hash(R"({"chunks":[2]})"));
}

TEST_F(Store, RefusesAScheduleThatIsNoObject) {
  for (const char* json : {"", "[1]", "{", "7"}) {
    EXPECT_THROW(find_or_insert(connection, Schedule{0, "", "x", json}), Error) << json;
  }
}

TEST_F(Store, RefusesAnOpWithoutItsActivity) {
  auto ops = sample_ops();
  ops[1].activity = "";
  TimelineInfo timeline;
  timeline.kind = "imported";
  expect_invalid([&] { insert(connection, timeline, ops, {}); }, "activity");
}

TEST_F(Store, IterationsKnowTheScheduleThatRuledThem) {
  const auto run = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  const auto schedule = find_or_insert(connection, Schedule{0, "", "lina", R"({"chunks":2})"});
  Iteration iteration;
  iteration.run_id = run;
  iteration.schedule_id = schedule;
  insert(connection, std::span<const Iteration>(&iteration, 1));
  EXPECT_EQ(load_iterations(connection, run).at(0).schedule_id, schedule);
  iteration.iteration = 1;
  iteration.schedule_id = 99;
  EXPECT_THROW(insert(connection, std::span<const Iteration>(&iteration, 1)), Error);
}

TEST_F(Store, ContentHashIsThePublishedFnv1a) {
  EXPECT_EQ(content_hash(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(content_hash("a"), "d228cb696f1a8caf78912b704e4a8964");
}

TEST_F(Store, RunBeginsRunningAndEndsAsItWasTold) {
  const double before = now();
  const auto id = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  auto run = load_run(connection, id);
  EXPECT_EQ(run.status, "running");
  EXPECT_GE(run.started_at, before);
  EXPECT_LE(run.started_at, now());
  EXPECT_EQ(run.heartbeat_at, run.started_at);
  finish_run(connection, id, "failed", "rank 1: out of memory");
  run = load_run(connection, id);
  EXPECT_EQ(run.status, "failed");
  EXPECT_EQ(run.error, "rank 1: out of memory");
  EXPECT_TRUE(run.finished_at);
}

TEST_F(Store, RefusesUnknownIdsStatusesAndJson) {
  const auto sample = store_sample(connection);
  expect_invalid([&] { heartbeat_run(connection, 99); }, "no run 99");
  expect_invalid([&] { finish_run(connection, 99, "done"); }, "no run 99");
  expect_invalid([&] { heartbeat_study(connection, 99, sample.study); }, "no run 99");
  expect_invalid([&] { finish_run(connection, sample.run, "dun"); }, "CHECK");
  expect_invalid([&] { insert(connection, sample_run(99)); }, "FOREIGN KEY");
  db::Run run = sample_run(sample.machine);
  run.model_json = "{";
  expect_invalid([&] { insert(connection, run); }, "json_valid");
}

TEST_F(Store, OnlyRunsWithoutAHeartbeatAreMarkedKilled) {
  const auto machine = find_or_insert(connection, sample_machine());
  db::Run stale = sample_run(machine);
  stale.started_at = now() - 1000;
  const auto stale_id = insert(connection, stale);
  const auto live_id = insert(connection, sample_run(machine));
  EXPECT_EQ(mark_stale_runs_killed(connection, 60), 1);
  EXPECT_EQ(load_run(connection, stale_id).status, "killed");
  EXPECT_EQ(load_run(connection, live_id).status, "running");
  heartbeat_run(connection, live_id);
  EXPECT_EQ(mark_stale_runs_killed(connection, 60), 0);
}

TEST_F(Store, AKilledRunEndedAtItsLastHeartbeat) {
  const auto id = insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  heartbeat_run(connection, id);
  mark_run_killed(connection, id);
  const db::Run killed = load_run(connection, id);
  EXPECT_EQ(killed.status, "killed");
  EXPECT_EQ(killed.finished_at, killed.heartbeat_at);
  finish_run(connection, id, "done");
  mark_run_killed(connection, id);
  EXPECT_EQ(load_run(connection, id).status, "done");
}

TEST_F(Store, RankRowsAreReplaced) {
  const auto sample = store_sample(connection);
  auto ranks = load_run_ranks(connection, sample.run);
  ranks[1].measured_peak_bytes = 42;
  insert(connection, ranks);
  EXPECT_EQ(load_run_ranks(connection, sample.run)[1].measured_peak_bytes, 42);
  EXPECT_EQ(count("run_rank"), 2);
}

TEST_F(Store, DivergedLossIsNullAndReadsBackAsNan) {
  const auto sample = store_sample(connection);
  Iteration iteration;
  iteration.run_id = sample.run;
  iteration.iteration = 10;
  iteration.loss = std::numeric_limits<double>::infinity();
  iteration.auxiliary_loss = std::nan("");
  iteration.heldout_loss = std::nan("");
  insert(connection, std::span<const Iteration>(&iteration, 1));
  const auto read = load_iterations(connection, sample.run, 10).front();
  EXPECT_TRUE(std::isnan(read.loss));
  EXPECT_TRUE(std::isnan(read.auxiliary_loss));
  EXPECT_EQ(read.heldout_loss, std::nullopt);
}

TEST_F(Store, RefusesOtherNumbersThatAreNotFiniteAndNamesThem) {
  const auto sample = store_sample(connection);
  Fit fit;
  fit.run_id = sample.run;
  fit.r2 = std::nan("");
  expect_invalid([&] { insert(connection, std::span<const Fit>(&fit, 1)); }, "fit.r2 = nan");
  Trial trial = load_trials(connection, sample.study).at(0);
  trial.measured_s = std::numeric_limits<double>::infinity();
  expect_invalid([&] { finish_trial(connection, trial); }, "trial.measured_s = inf");
  EXPECT_EQ(load_trials(connection, sample.study).at(0).measured_s, 0.2);
}

TEST_F(Store, TimelineKnowsItsEndAndItsSpans) {
  const auto sample = store_sample(connection);
  EXPECT_DOUBLE_EQ(load_timeline(connection, sample.measured).duration_s, 0.008);
  EXPECT_EQ(load_spans(connection, sample.measured).size(), 6U);
  EXPECT_EQ(load_timeline_ops(connection, sample.measured).size(), 3U);
}

TEST_F(Store, RefusesASpanOfAnUnknownOp) {
  const auto sample = store_sample(connection);
  TimelineInfo timeline;
  timeline.run_id = sample.run;
  timeline.kind = "measured";
  const std::vector<Span> spans{make_span(1, 7, 0, 1)};
  expect_invalid([&] { insert(connection, timeline, sample_ops(), spans); },
                 "span of op 7 on rank 1");
  EXPECT_EQ(load_timelines(connection).size(), 2U);
}

TEST_F(Store, ARunBeginsWithItsMachineAndItsSchedulesPlanner) {
  const Schedule schedule{0, "", "lina", R"({"planner":"lina","chunks":2})"};
  db::Run row = sample_run(0);
  const auto plain = load_run(connection, begin_run(connection, row, sample_machine()));
  EXPECT_EQ(load_machine(connection, plain.machine_id).hostname, "node0");
  EXPECT_EQ(plain.schedule_id, std::nullopt);
  EXPECT_EQ(plain.planner, "");
  EXPECT_EQ(plain.status, "running");
  const auto other = find_or_insert(connection, Schedule{0, "", "tutel", R"({"chunks":2})"});
  const auto planned = load_run(connection, begin_run(connection, row, sample_machine(), schedule));
  EXPECT_EQ(planned.schedule_id, other);  // the same decisions
  EXPECT_EQ(planned.planner, "lina");
  EXPECT_EQ(planned.machine_id, plain.machine_id);
}

TEST_F(Store, AStudyLearnsItsProfileCostsAndCluster) {
  const auto sample = store_sample(connection);
  auto study = find_study(connection, "sample study").value();
  const auto settings = study.settings_json;
  study.profile_runs_json = "[1]";
  study.cost_model_json = R"({"fits":[]})";
  study.refinement_runs_json = "[[2]]";
  study.cluster_json = R"({"nodes":2})";
  study.settings_json = R"({"not":"written"})";
  update_study(connection, study);
  const auto read = find_study(connection, "sample study").value();
  EXPECT_EQ(read.profile_runs_json, "[1]");
  EXPECT_EQ(read.cost_model_json, R"({"fits":[]})");
  EXPECT_EQ(read.refinement_runs_json, "[[2]]");
  EXPECT_EQ(read.cluster_json, R"({"nodes":2})");
  EXPECT_EQ(read.settings_json, settings);
  study.id = sample.study + 1;
  expect_invalid([&] { update_study(connection, study); }, "no study");
}

TEST_F(Store, MeasuredTimelinesOfARunAreLinkedToATrial) {
  const auto sample = store_sample(connection);
  link_timelines(connection, sample.run, sample.trials[0]);
  EXPECT_EQ(load_timeline(connection, sample.measured).trial_id, sample.trials[0]);
  EXPECT_EQ(load_timeline(connection, sample.predicted).trial_id, sample.trials[1]);
  EXPECT_THROW(link_timelines(connection, sample.run, 99), Error);
}

TEST_F(Store, StudyNamesAreUnique) {
  store_sample(connection);
  Study study;
  study.name = "sample study";
  expect_invalid([&] { insert(connection, study); }, "UNIQUE");
}

TEST_F(Store, ATrialOfTheSameScheduleIsTheSameTrial) {
  const auto sample = store_sample(connection);
  auto again = sample_trial(connection, sample.study, "tutel");
  again.predicted_s = 9;
  EXPECT_EQ(find_or_insert(connection, again), sample.trials[1]);
  EXPECT_EQ(load_trials(connection, sample.study).at(1).predicted_s, 0.11);  // unchanged
  EXPECT_EQ(load_trials(connection, sample.study).at(1).also_planned_by, "");
}

TEST_F(Store, ATrialNamesEveryOtherPlannerOfItsScheduleOnce) {
  const auto sample = store_sample(connection);
  auto again = sample_trial(connection, sample.study, "tutel");
  for (const char* planner : {"fsmoe", "fsmoe_no_iio", "moe", "fsmoe", "tutel"}) {
    again.planner = planner;
    EXPECT_EQ(find_or_insert(connection, again), sample.trials[1]);
  }
  again.id = sample.trials[1];
  again.status = "done";
  finish_trial(connection, again);
  const Trial trial = load_trials(connection, sample.study).at(1);
  EXPECT_EQ(trial.planner, "tutel");
  EXPECT_EQ(trial.also_planned_by, "fsmoe, fsmoe_no_iio, moe");
}

TEST_F(Store, APredictionIsReplacedWithItsTimelineAndNothingElse) {
  const auto sample = store_sample(connection);
  Trial trial = load_trials(connection, sample.study).at(1);
  const Trial before = trial;
  trial.paper_s = 0.5;
  trial.predicted_s = 0.6;
  trial.lower_bound_s = 0.4;
  trial.bounded_by = "rank 0 inter_node";
  trial.predicted_peak_bytes = 123;
  trial.predicted_deviation_s = 0.01;
  trial.status = "not written";
  replace_prediction(connection, trial);
  const Trial after = load_trials(connection, sample.study).at(1);
  EXPECT_EQ(after.paper_s, 0.5);
  EXPECT_EQ(after.predicted_s, 0.6);
  EXPECT_EQ(after.lower_bound_s, 0.4);
  EXPECT_EQ(after.bounded_by, "rank 0 inter_node");
  EXPECT_EQ(after.predicted_peak_bytes, 123);
  EXPECT_EQ(after.predicted_deviation_s, 0.01);
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.measured_s, before.measured_s);
  EXPECT_THROW(load_timeline(connection, sample.predicted), Error);
  EXPECT_NO_THROW(load_timeline(connection, sample.measured));
  trial.id = 99;
  expect_invalid([&] { replace_prediction(connection, trial); }, "no trial 99");
}

TEST_F(Store, ATrialIsClaimedOnce) {
  const auto sample = store_sample(connection);
  const auto id = find_or_insert(connection, sample_trial(connection, sample.study, "lina"));
  EXPECT_TRUE(claim_trial(connection, id));
  EXPECT_FALSE(claim_trial(connection, id));
  EXPECT_FALSE(claim_trial(connection, sample.trials[2]));  // out of memory: never again
}

TEST_F(Store, AFailureIsNamedForEveryClass) {
  const auto sample = store_sample(connection);
  const auto trial = [&](std::size_t i) { return load_trials(connection, sample.study)[i]; };
  EXPECT_EQ(trial(0).failure, "");
  EXPECT_EQ(trial(2).failure, "out_of_memory");
  for (const char* status : {"infeasible", "hung", "crashed", "failed", "done"}) {
    Trial changed = trial(0);
    changed.status = status;
    finish_trial(connection, changed);
    EXPECT_EQ(trial(0).failure, changed.status == "done" ? "" : status);
  }
}

TEST_F(Store, ATrialThatWasNotStartedStaysPlannedAndTellsWhy) {
  const auto sample = store_sample(connection);
  const auto id = find_or_insert(connection, sample_trial(connection, sample.study, "lina"));
  const auto trial = [&] { return load_trials(connection, sample.study).back(); };
  ASSERT_TRUE(claim_trial(connection, id));
  unclaim_trial(connection, id, kNotStarted, "ssh: refused");
  EXPECT_EQ(trial().status, "planned");
  EXPECT_EQ(trial().failure, kNotStarted);
  EXPECT_EQ(trial().error, "ssh: refused");
  ASSERT_TRUE(claim_trial(connection, id));
  EXPECT_EQ(trial().failure, "");
  EXPECT_EQ(trial().error, "");
  unclaim_trial(connection, sample.trials[0], kNotStarted, "");
  EXPECT_EQ(load_trials(connection, sample.study)[0].status, "done") << "it does not run";
}

TEST_F(Store, FailedTrialsAreTriedAgainWhereThatIsAskedFor) {
  const auto sample = store_sample(connection);
  EXPECT_EQ(retry_failed_trials(connection, sample.study + 1), 0);
  EXPECT_EQ(retry_failed_trials(connection, sample.study), 1);
  const Trial again = load_trials(connection, sample.study)[2];
  EXPECT_EQ(again.status, "planned");
  EXPECT_EQ(again.failure, "");
  EXPECT_EQ(load_trials(connection, sample.study)[0].status, "done");
}

TEST_F(Store, TrialsOfAProcessThatIsGoneAreTriedAgainWhateverTheClocksSay) {
  const auto sample = store_sample(connection);
  const auto id = find_or_insert(connection, sample_trial(connection, sample.study, "lina"));
  claim_trial(connection, id);
  connection.database().exec("UPDATE trial SET heartbeat_at = 9e9 WHERE status = 'running'");
  EXPECT_EQ(requeue_trials(connection, sample.study + 1), 0);
  EXPECT_EQ(requeue_trials(connection, sample.study), 1);
}

TEST_F(Store, ResumedStudyRepeatsOnlyWhatWasNotFinished) {
  const auto sample = store_sample(connection);
  const auto id = find_or_insert(connection, sample_trial(connection, sample.study, "lina"));
  claim_trial(connection, id);
  EXPECT_EQ(requeue_stale_trials(connection, sample.study, 60), 0);  // it lives
  EXPECT_EQ(requeue_stale_trials(connection, sample.study + 1, -1), 0);
  EXPECT_EQ(requeue_stale_trials(connection, sample.study, -1), 1);
  const auto left = load_trials(connection, sample.study, "planned");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, id);
  EXPECT_EQ(left[0].status, "planned");
  EXPECT_TRUE(claim_trial(connection, id));
}

TEST_F(Store, KeepsWhatOpsWaitForAndWhichRanksCommunicate) {
  std::vector<TimelineOp> ops = sample_ops();
  ops[1].group_kind = "expert";
  std::vector<Span> spans = sample_spans();
  spans[1].waiting_s = 0.001;
  const std::vector<OpEdge> edges = {{0, 1, 0}, {0, 2, 1}};
  const std::vector<RankGroup> groups = {{0, "expert", 0, 0}, {0, "expert", 1, 0}};
  TimelineInfo timeline;
  timeline.kind = "imported";
  const std::int64_t id = insert(connection, timeline, ops, spans, edges, groups);
  EXPECT_EQ(load_timeline_ops(connection, id)[1].group_kind, "expert");
  EXPECT_EQ(load_timeline_ops(connection, id)[0].group_kind, "");
  const std::vector<OpEdge> loaded = load_op_edges(connection, id);
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[1].op, 2);
  EXPECT_EQ(loaded[1].before, 1);
  ASSERT_EQ(load_rank_groups(connection, id).size(), 2U);
  EXPECT_EQ(load_rank_groups(connection, id)[1].rank, 1);
  EXPECT_EQ(load_rank_groups(connection, id)[1].first_rank, 0);
  SQLite::Statement view(connection.database(),
                         "SELECT waiting_s, transfer_s FROM span_view WHERE timeline = ? "
                         "AND rank = 0 AND op < 2 ORDER BY op");
  view.bind(1, id);
  ASSERT_TRUE(view.executeStep());
  EXPECT_TRUE(view.getColumn(0).isNull()) << "a computation waits for none";
  ASSERT_TRUE(view.executeStep());
  EXPECT_DOUBLE_EQ(view.getColumn(0).getDouble(), 0.001);
  EXPECT_DOUBLE_EQ(view.getColumn(1).getDouble(), 0.003);
}

TEST_F(Store, KeepsTheMemoryOfATimelineAndItsLineFollows) {
  TimelineMemory memory{{{0, 0, "weights", "parameter", "device"},
                         {0, 1, "sent", "activation", "device"},
                         {0, 2, "received", "activation", "device"},
                         {0, 3, "away", "activation", "host"}},
                        {{0, 0, 0, 0, 100},
                         {0, 0, 1, 100, 40, 0, 1, 0.0, 0.005},
                         {0, 0, 2, 140, 30, 1, 2, 0.001, 0.007},
                         {0, 0, 3, 0, 7, 1, 2, 0.001, 0.007}}};
  TimelineInfo timeline;
  timeline.kind = "imported";
  const std::int64_t id =
      insert(connection, timeline, sample_ops(), sample_spans(), {}, {}, memory);
  const TimelineMemory loaded = load_timeline_memory(connection, id);
  ASSERT_EQ(loaded.tensors.size(), 4U);
  EXPECT_EQ(loaded.tensors[1].name, "sent");
  EXPECT_EQ(loaded.tensors[3].pool, "host");
  ASSERT_EQ(loaded.allocations.size(), 4U);
  EXPECT_EQ(loaded.allocations[0].begin_s, std::nullopt);
  EXPECT_EQ(loaded.allocations[2].first_op, 1);
  EXPECT_EQ(loaded.allocations[2].offset_bytes, 140);
  Query line(connection,
             "SELECT pool, at_s, bytes FROM memory_view WHERE rank = 0 ORDER BY pool, at_s");
  const auto row = [&] { return line.next().value(); };
  const auto cells = [](const char* pool, double at_s, std::int64_t bytes) {
    return std::vector<Cell>{std::string(pool), at_s, bytes};
  };
  EXPECT_EQ(row(), cells("device", 0, 140));
  EXPECT_EQ(row(), cells("device", 0.001, 170));
  EXPECT_EQ(row(), cells("device", 0.005, 130));
  EXPECT_EQ(row(), cells("device", 0.007, 100));
  EXPECT_EQ(row(), cells("device", 0.008, 0)) << "the end of the timeline";
  EXPECT_EQ(row(), cells("host", 0.001, 7));
  memory.allocations[0].tensor = 9;
  EXPECT_THROW(insert(connection, timeline, sample_ops(), sample_spans(), {}, {}, memory), Error);
  memory.allocations[0].tensor = 0;
  memory.allocations[1].last_op = 77;
  EXPECT_THROW(insert(connection, timeline, sample_ops(), sample_spans(), {}, {}, memory), Error);
}

TEST_F(Store, DeletingARunDeletesWhatBelongsToIt) {
  const auto sample = store_full_sample(connection);
  connection.database().exec("DELETE FROM run");
  for (const char* table : {"run_rank", "iteration", "load", "balance", "fit", "measurement",
                            "timeline", "timeline_op", "op_edge", "rank_group", "span",
                            "timeline_tensor", "allocation", "rank_load", "expert_place"}) {
    EXPECT_EQ(count(table), 0) << table;
  }
  EXPECT_EQ(count("trial"), 3);
  EXPECT_EQ(load_trial_repeats(connection, sample.trials[0])[0].run_id, std::nullopt);
}

TEST_F(Store, DeletingAStudyDeletesItsTrialsAndKeepsSchedules) {
  store_sample(connection);
  connection.database().exec("DELETE FROM study");
  EXPECT_EQ(count("trial"), 0);
  EXPECT_EQ(count("trial_repeat"), 0);
  EXPECT_EQ(count("timeline"), 1);
  EXPECT_EQ(count("schedule"), 3);
}

}  // namespace
}  // namespace db::store_test
