#include "moe/train/train_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/load.h"
#include "db/load_views.h"
#include "db/query.h"
#include "db/transaction.h"
#include "moe/model/iteration.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"
#include "tests/moe/train/training_case.h"

namespace moe::train_store_test {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 2;

class TrainStoreTest : public ::testing::Test {
 protected:
  db::TemporaryDirectory directory;
  TrainStoreOptions options{directory.file("a.db"), 1, 0.3, 0};
  Groups groups = make_groups(kRanks, kRanks);
  Program program = build_iteration(test::small_model(DType::f32), groups, 0);

  static db::Schedule begun_with(const Schedule& schedule) {
    return {0, "", schedule.planner, to_json(schedule)};
  }
  TrainStore make_store() const {
    std::vector<RankInfo> ranks(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks[rank].hostname = "node" + std::to_string(rank);
      ranks[rank].node = rank;
      ranks[rank].pid = 10 + rank;
    }
    ranks[0].clock = {.offset_s = 0.25, .error_s = 1e-6};
    ranks[1].clock = {.offset_s = 0, .error_s = HUGE_VAL};  // not compared in time
    const Schedule schedule{"tutel", {}};
    TrainStore store(options, db::sample_run(0), begun_with(schedule), ranks, groups);
    store.observe(1, schedule, program);
    return store;
  }

  static StepReport report(int iteration, double duration_s = 0.5) {
    StepReport step;
    step.iteration = iteration;
    step.warms_up = iteration <= kWarmupIterations;
    step.loss = 5.0 - iteration;
    step.duration_s = duration_s;
    step.dropped = 3;
    step.routing.layers.push_back({1, 2, {{7, 8}, {9, 10}}, 0, {{7, 8}, {9, 13}}});
    step.planned_peak_bytes = {100, 200};
    step.touched_peak_bytes = {90, 300 - iteration};
    return step;
  }

  db::Connection reader() const { return db::open_reader(options.database); }
  std::size_t stored_iterations(const TrainStore& store) const {
    return db::load_iterations(reader(), store.run_id()).size();
  }
};

TEST_F(TrainStoreTest, ARunIsThereFromItsBeginning) {
  const TrainStore store = make_store();
  const auto run = db::load_run(reader(), store.run_id());
  EXPECT_EQ(run.status, "running");
  EXPECT_EQ(run.planner, "tutel");
  ASSERT_TRUE(run.schedule_id);
  const auto ranks = db::load_run_ranks(reader(), run.id);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[1].hostname, "node1");
  EXPECT_EQ(ranks[1].pid, 11);
}

TEST_F(TrainStoreTest, AClockThatWasNotComparedIsNotKnown) {
  const TrainStore store = make_store();
  const auto ranks = db::load_run_ranks(reader(), store.run_id());
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].clock_offset_s, 0.25);
  EXPECT_EQ(ranks[0].clock_error_s, 1e-6);
  EXPECT_EQ(ranks[1].clock_offset_s, std::nullopt);
  EXPECT_EQ(ranks[1].clock_error_s, std::nullopt);
}

TEST_F(TrainStoreTest, IterationsLoadsAndLargestPeaksAreStored) {
  TrainStore store = make_store();
  store.observe(report(1));
  store.observe(report(2));
  store.finish();
  const auto rows = db::load_iterations(reader(), store.run_id());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].loss, 3);
  EXPECT_EQ(rows[1].dropped_tokens, 3);
  EXPECT_EQ(rows[1].tokens, program.tensors[program.tokens.front()].rows * kRanks);
  db::LoadFilter filter;
  filter.run_id = store.run_id();
  const auto loads = db::load_loads(reader(), filter);
  ASSERT_EQ(loads.size(), 8u);
  EXPECT_EQ(loads[2].rank, 1);
  EXPECT_EQ(loads[2].tokens, 9);
  EXPECT_EQ(loads[3].tokens, 10);
  EXPECT_EQ(loads[3].asked_tokens, 13);
  const auto ranks = db::load_run_ranks(reader(), store.run_id());
  EXPECT_EQ(ranks[1].measured_peak_bytes, 299);
  EXPECT_EQ(ranks[1].predicted_peak_bytes, 200);
  EXPECT_EQ(db::load_run(reader(), store.run_id()).status, "done");
}

TEST_F(TrainStoreTest, ARankTellsWhatOthersUsedOfItsMachine) {
  TrainStore store = make_store();
  store.observe(report(1));
  EXPECT_EQ(db::load_run_ranks(reader(), store.run_id())[1].share_of_others, std::nullopt);
  store.observe_others({0.25, 0.5});
  store.finish();
  EXPECT_EQ(db::load_run_ranks(reader(), store.run_id())[1].share_of_others, 0.5);
}

TEST_F(TrainStoreTest, RatesAndSharesFollowFromWhatIsStored) {
  db::Run begun = db::sample_run(0);
  begun.peak_flops_per_s = 4000;
  TrainStore store(options, begun, begun_with({}), std::vector<RankInfo>(kRanks), groups);
  store.observe(1, {}, program);
  StepReport step = report(1);
  step.flops = 500;
  step.exposed = ExposedCommunication{0.125, 0.0625, 0.03125};
  store.observe(step);
  store.observe(BalancedTurns{.usual_s = 0.5, .balanced_s = 0.4});
  store.finish();
  const db::Connection connection = reader();
  db::Query query(connection,
                  "SELECT flops_per_s, peak_share, exposed_s, max_over_mean, balanced_share, "
                  "exposed_waiting_s, exposed_bubble_s, exposed_transfer_s "
                  "FROM iteration_view JOIN run_view USING (run)");
  EXPECT_EQ(query.next().value(),
            (std::vector<db::Cell>{1000.0, 0.25, 0.125, 42.0 / 37, 0.8, 0.0625, 0.03125, 0.03125}));
}

TEST_F(TrainStoreTest, LoadsOfEveryMicroBatchAreStoredAndTheBalanceOfAllTogether) {
  options.steps = 250'000;
  TrainStore store = make_store();
  StepReport step = report(1);
  step.routing.layers.push_back({1, 2, {{1, 2}, {3, 4}}, 1, {{1, 2}, {3, 5}}});
  store.observe(step);
  EXPECT_EQ(store.loads_every(), 2) << "eight rows each";
  store.finish();
  const auto loads = db::load_loads(reader(), {.run_id = store.run_id()});
  ASSERT_EQ(loads.size(), 8u);
  EXPECT_EQ(loads[6].micro_batch, 0);
  EXPECT_EQ(loads[6].tokens, 10);
  EXPECT_EQ(loads[7].micro_batch, 1);
  EXPECT_EQ(loads[7].tokens, 4);
  EXPECT_EQ(loads[7].asked_tokens, 5);
  const auto balances = db::load_balances(reader(), store.run_id());
  ASSERT_EQ(balances.size(), 1u);
  EXPECT_EQ(balances[0].tokens, 44);
}

TEST_F(TrainStoreTest, BalanceOfEveryIterationIsStored) {
  options.loads_every = 0;
  TrainStore store = make_store();
  store.observe(report(1));
  StepReport second = report(2);
  second.routing.layers[0].tokens = second.routing.layers[0].asked = {{8, 7}, {10, 9}};
  second.routing.layers.push_back({5, 2, {{1, 0}, {1, 0}}});
  store.observe(second);
  store.finish();
  EXPECT_TRUE(db::load_recorded_iterations(reader(), store.run_id()).empty());
  const auto rows = db::load_balances(reader(), store.run_id());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].tokens, 34);
  EXPECT_EQ(rows[0].dropped_tokens, 3);
  EXPECT_EQ(rows[0].max_tokens, 18);
  EXPECT_DOUBLE_EQ(rows[0].rank_max_over_mean.value(), 18.0 / 17) << "an expert a rank";
  EXPECT_EQ(rows[0].locality, std::nullopt);
  EXPECT_DOUBLE_EQ(rows[1].locality.value(),
                   (16.0 * 18 + 21 * 16) / std::sqrt((16.0 * 16 + 21 * 21) * (18 * 18 + 16 * 16)))
      << "of what gates asked for";
  EXPECT_EQ(rows[2].layer, 5);
  EXPECT_EQ(rows[2].locality, std::nullopt) << "another layer's loads are not its own";
}

TEST_F(TrainStoreTest, BalanceOfWhatRanksComputedIsStoredWithTheScheduleThatRuled) {
  TrainStore store = make_store();
  const auto iteration = [](int number) {
    StepReport step = report(number);
    std::vector<std::int64_t> tokens(28, 1);
    tokens[3] = 29;  // of rank 0, which has 14 experts
    step.routing.layers[0] = {1, 28, {tokens, tokens}};
    return step;
  };
  store.observe(iteration(1));
  const Schedule placed{"pro_prophet", {ReplicateExperts{1, {{{3, {1}}}}}}};
  store.observe(2, placed, apply(program, placed));
  store.observe(iteration(2));
  store.observe(3, {"tutel", {}}, program);
  store.observe(iteration(3));
  store.finish();
  const db::Connection connection = reader();
  db::Query query(
      connection,
      "SELECT rank_max_over_mean, placed_rank_max_over_mean, rank_standard_deviation, "
      "placed_rank_standard_deviation, balance_ratio FROM balance_view ORDER BY iteration");
  const db::Cell none;
  // 84 tokens for experts of rank 0, 28 for those of rank 1; 29 of the latter's own stay there.
  EXPECT_EQ(query.next().value(), (std::vector<db::Cell>{1.5, none, 28.0, none, none}));
  EXPECT_EQ(query.next().value(), (std::vector<db::Cell>{1.5, 57.0 / 56, 28.0, 1.0, 28.0}));
  EXPECT_EQ(query.next().value(), (std::vector<db::Cell>{1.5, none, 28.0, none, none}));
  // What each rank computed, and which experts it had.
  db::Query ranks(connection,
                  "SELECT iteration, rank, tokens, placed_tokens, replicas FROM rank_load_view "
                  "ORDER BY iteration, rank");
  const auto cells = [](std::int64_t number, std::int64_t rank, std::int64_t tokens, db::Cell after,
                        db::Cell replicas) {
    return std::vector<db::Cell>{number, rank, tokens, std::move(after), std::move(replicas)};
  };
  EXPECT_EQ(ranks.next().value(), cells(1, 0, 84, none, none));
  EXPECT_EQ(ranks.next().value(), cells(1, 1, 28, none, none));
  EXPECT_EQ(ranks.next().value(), cells(2, 0, 84, std::int64_t{55}, none));
  EXPECT_EQ(ranks.next().value(), cells(2, 1, 28, std::int64_t{57}, std::string("3")));
  const auto places = db::load_expert_places(connection, store.run_id());
  ASSERT_EQ(places.size(), 29u) << "of iteration 2 alone: 28 experts and a replica";
  EXPECT_EQ(places[14].expert, 3);
  EXPECT_EQ(places[14].rank, 1);
  EXPECT_EQ(places[14].replica, 1);
  const auto rows = db::load_iterations(connection, store.run_id());
  EXPECT_EQ(rows[0].schedule_id, std::nullopt);
  EXPECT_EQ(db::load_schedule(connection, rows[1].schedule_id.value()).json, to_json(placed));
}

TEST_F(TrainStoreTest, ReplicasThatARuleChoseInEachMicroBatchAreStored) {
  TrainStore store = make_store();
  StepReport step = report(1);
  std::vector<std::int64_t> one(28, 1), other(28, 1);
  one[3] = 29, other[5] = 29;  // of rank 0: 42 tokens of a rank in a micro-batch, and 14 for rank 1
  step.routing.layers = {{1, 28, {one, one}}, {1, 28, {other, other}, 1}};
  ReplicateExperts moonep{1, {}};
  moonep.placement.rows_of_others = RowsOfOthers::balanced;
  moonep.placement.late = {LateRule::moonep, 1};
  const Schedule schedule{"moonep", {moonep}};
  store.observe(1, schedule, apply(program, schedule));
  store.observe(step);
  store.finish();
  const db::Connection connection = reader();
  db::Query ranks(connection,
                  "SELECT rank, tokens, placed_tokens, replicas FROM rank_load_view "
                  "ORDER BY rank");
  EXPECT_EQ(ranks.next().value(), (std::vector<db::Cell>{std::int64_t{0}, std::int64_t{168},
                                                         std::int64_t{112}, db::Cell()}));
  EXPECT_EQ(ranks.next().value(), (std::vector<db::Cell>{std::int64_t{1}, std::int64_t{56},
                                                         std::int64_t{112}, std::string("3, 5")}));
  db::Query balance(connection, "SELECT placed_rank_max_over_mean FROM balance_view");
  EXPECT_EQ(balance.next().value(), (std::vector<db::Cell>{1.0}));
}

TEST_F(TrainStoreTest, BalanceOfExpertsAtOtherHomesIsStoredWithTheScheduleThatRuled) {
  TrainStore store = make_store();
  StepReport step = report(1);
  std::vector<std::int64_t> tokens(28, 1);
  tokens[3] = tokens[4] = 29;  // both of rank 0, which has 14 experts: 140 tokens instead of 28
  step.routing.layers[0] = {1, 28, {tokens, tokens}};
  ExpertHomes homes = homes_in_order(28, 2);
  std::swap(homes[4], homes[27]);  // 84 and 84
  const Schedule placed{"smartmoe_greedy", {PlaceExperts{1, homes}}};
  store.observe(step);
  store.observe(2, placed, apply(program, placed));
  step.iteration = 2;
  store.observe(step);
  store.finish();
  const db::Connection connection = reader();
  db::Query query(connection,
                  "SELECT rank_max_over_mean, placed_rank_max_over_mean, "
                  "placed_rank_standard_deviation FROM balance_view ORDER BY iteration");
  const db::Cell none;
  EXPECT_EQ(query.next().value(), (std::vector<db::Cell>{140.0 / 84, none, none}));
  EXPECT_EQ(query.next().value(), (std::vector<db::Cell>{140.0 / 84, 1.0, 0.0}));
  const auto rows = db::load_iterations(connection, store.run_id());
  EXPECT_EQ(db::load_schedule(connection, rows[1].schedule_id.value()).json, to_json(placed));
}

TEST_F(TrainStoreTest, LoadsOfEveryNthIterationAreStoredAndThoseOfItsTimeline) {
  const auto outcome =
      test::train_small(test::small_model(DType::f32), {"sequential", {}}, kRanks, 1);
  options.loads_every = 3;
  TrainStore store = make_store();
  for (int iteration = 1; iteration <= 7; ++iteration) {
    StepReport step = report(iteration, iteration == 5 ? 0.5 : iteration < 5 ? 0.9 : 0.1);
    step.routing = outcome.routing;
    step.timeline = outcome.timeline;
    store.observe(step);
  }
  store.observe(report(8, 0.1));
  store.finish();
  EXPECT_EQ(db::load_timelines(reader()).at(0).iteration, 5);
  EXPECT_EQ(db::load_recorded_iterations(reader(), store.run_id()), (std::vector{1, 3, 5, 6}));
  EXPECT_EQ(stored_iterations(store), 8u);
}

TEST_F(TrainStoreTest, WithoutAWordAsManyLoadsAreStoredAsMakeAMillionRows) {
  EXPECT_EQ(loads_interval(64, 300), 1);
  EXPECT_EQ(loads_interval(100, 10'000), 1) << "a million";
  EXPECT_EQ(loads_interval(100, 10'001), 2);
  // 10,000 iterations of 32 layers, 256 experts, 64 ranks would be 5 billion rows.
  EXPECT_EQ(loads_interval(32 * 256 * 64, 10'000), 10'000);
  EXPECT_EQ(loads_interval(2'000'000, 10), 10) << "one iteration's at least";
  EXPECT_EQ(loads_interval(0, 10), 1) << "a model without experts";

  options.steps = 750'000;
  TrainStore store = make_store();
  EXPECT_EQ(store.loads_every(), std::nullopt);
  store.observe(report(1));
  EXPECT_EQ(store.loads_every(), 3);  // four rows each
  store.observe(report(2));
  store.observe(report(3));
  store.finish();
  EXPECT_EQ(db::load_recorded_iterations(reader(), store.run_id()), (std::vector{1, 3}));
}

TEST_F(TrainStoreTest, TheTimelineOfTheMedianIterationAfterWarmUpIsKept) {
  const auto outcome =
      test::train_small(test::small_model(DType::f32), {"sequential", {}}, kRanks, 1);
  TrainStore store = make_store();
  for (const auto& [iteration, duration_s] :
       {std::pair{1, 0.9}, {2, 0.8}, {3, 0.1}, {4, 0.3}, {5, 0.5}}) {
    StepReport step = report(iteration, duration_s);
    step.routing = outcome.routing;
    step.timeline = outcome.timeline;
    store.observe(step);
  }
  store.finish();
  const auto timelines = db::load_timelines(reader());
  ASSERT_EQ(timelines.size(), 1u);
  EXPECT_EQ(timelines[0].iteration, 4);
  EXPECT_EQ(timelines[0].kind, "measured");
  const auto ops = db::load_timeline_ops(reader(), timelines[0].id);
  ASSERT_EQ(ops.size(), program.ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    EXPECT_EQ(ops[i].activity == "communication", is_communication(program.ops[i])) << ops[i].name;
  }
  EXPECT_EQ(db::load_spans(reader(), timelines[0].id).size(), kRanks * program.ops.size());
}

TEST_F(TrainStoreTest, IterationsUnderAnotherScheduleThanTheRunsNameIt) {
  TrainStore store = make_store();
  store.observe(report(1));
  const Schedule second = test::chunked(test::small_model(DType::f32), 2, 2);
  store.observe(2, second, program);
  store.observe(report(2));
  store.finish();
  const auto rows = db::load_iterations(reader(), store.run_id());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].schedule_id, std::nullopt);
  ASSERT_TRUE(rows[1].schedule_id);
  EXPECT_EQ(db::load_schedule(reader(), *rows[1].schedule_id).json, to_json(second));
}

TEST_F(TrainStoreTest, ASchedulePerIterationIsNamedByEachAlsoAfterAnothersLock) {
  TrainStore store = make_store();
  auto other = db::open_writer(options.database);
  std::optional<db::Transaction> lock;
  for (int iteration = 1; iteration <= 100; ++iteration) {
    if (iteration == 40) lock.emplace(other, "hold the database");
    if (iteration == 43) lock.reset();
    const Schedule next = test::chunked(test::small_model(DType::f32), 1 + iteration, 1);
    store.observe(iteration, next, program);
    store.observe(report(iteration));
  }
  store.finish();
  const auto rows = db::load_iterations(reader(), store.run_id());
  ASSERT_EQ(rows.size(), 100u);
  for (const db::Iteration& row : rows) {
    EXPECT_EQ(db::load_schedule(reader(), row.schedule_id.value()).json,
              to_json(test::chunked(test::small_model(DType::f32), 1 + row.iteration, 1)));
  }
}

TEST_F(TrainStoreTest, AnothersLockDelaysStoringButNotTraining) {
  TrainStore store = make_store();
  auto other = db::open_writer(options.database);
  {
    const db::Transaction lock(other, "hold the database");
    store.observe(report(1));
    store.observe(report(2));
    EXPECT_EQ(stored_iterations(store), 0u);
  }
  store.observe(report(3));
  EXPECT_EQ(stored_iterations(store), 3u);
  store.finish();
}

TEST_F(TrainStoreTest, ALockThatLastsBeyondTheEndIsAnError) {
  TrainStore store = make_store();
  auto other = db::open_writer(options.database);
  const db::Transaction lock(other, "hold the database");
  store.observe(report(1));
  try {
    store.finish();
    FAIL() << "what could not be stored was no error";
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::locked);
  }
}

TEST_F(TrainStoreTest, RowsThatWaitAreBounded) {
  options.most_waiting_rows = 12;  // two iterations of six rows
  TrainStore store = make_store();
  auto other = db::open_writer(options.database);
  const db::Transaction lock(other, "hold the database");
  EXPECT_NO_THROW(store.observe(report(1)));
  EXPECT_THROW(store.observe(report(2)), db::Error);
}

TEST_F(TrainStoreTest, BeforeACheckpointIsCompleteNoRowWaits) {
  options.flush_interval_s = 3600;
  TrainStore store = make_store();
  store.observe(report(1));
  store.observe(report(2));
  EXPECT_EQ(stored_iterations(store), 0u);
  store.flush_for_checkpoint();
  EXPECT_EQ(stored_iterations(store), 2u);
}

TEST_F(TrainStoreTest, ARunKnowsTheOneThatItGoesOnFrom) {
  const TrainStore first = make_store();
  options.resumes = first.identity();
  const TrainStore second = make_store();
  EXPECT_EQ(db::load_run(reader(), second.run_id()).resumes_run_id, first.run_id());
  EXPECT_NE(first.identity().started_at, 0);
  options.database = directory.file("another.db");
  const TrainStore stranger = make_store();
  EXPECT_EQ(db::load_run(reader(), stranger.run_id()).resumes_run_id, std::nullopt);
}

TEST_F(TrainStoreTest, AResumedRunSaysWhichRowsTheEarlierOneLacks) {
  TrainStore first = make_store();
  first.observe(report(1));
  first.observe(report(2));
  options.resumes = first.identity();
  const auto said = [this](int last) {
    options.resumes_after = last;
    testing::internal::CaptureStdout();
    make_store();
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(said(2), "");
  EXPECT_THAT(said(5), HasSubstr("run 1 has rows up to iteration 2: those of 3 to 5 are missing"));
  options.resumes->pid += 1;
  EXPECT_THAT(said(5), HasSubstr("does not have the run that wrote the checkpoint of iteration 5"));
}

TEST_F(TrainStoreTest, WhatCouldNotBeStoredIsStoredAtTheEnd) {
  TrainStore store = make_store();
  store.observe(report(1));
  const std::string away = directory.file("away.db");
  std::filesystem::rename(options.database, away);
  EXPECT_THROW(store.observe(report(2)), db::Error);
  store.keep(report(3));
  std::filesystem::rename(away, options.database);
  store.abandon("failed", "gone for a while");
  EXPECT_EQ(stored_iterations(store), 3u);
}

TEST_F(TrainStoreTest, IterationsThatAreLostAreNamed) {
  TrainStore store = make_store();
  store.observe(report(1));
  std::filesystem::remove(options.database);
  EXPECT_THROW(store.observe(report(2)), db::Error);
  store.keep(report(3));
  testing::internal::CaptureStdout();
  store.abandon("failed", "gone");
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("the rows of iterations 2 to 3 of run 1 are lost"));
}

TEST_F(TrainStoreTest, ADatabaseThatIsTakenAwayEndsTheRun) {
  TrainStore store = make_store();
  store.observe(report(1));
  std::filesystem::remove(options.database);
  try {
    store.observe(report(2));
    FAIL() << "rows went into a file without a name";
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::gone);
    EXPECT_NO_THROW(store.abandon("failed", error.what()));
  }
}

TEST_F(TrainStoreTest, AnAbandonedRunKeepsItsRowsAndSaysWhy) {
  options.flush_interval_s = 3600;
  TrainStore store = make_store();
  store.observe(report(1));
  store.abandon("killed", "stopped after iteration 1");
  const auto run = db::load_run(reader(), store.run_id());
  EXPECT_EQ(run.status, "killed");
  EXPECT_EQ(run.error, "stopped after iteration 1");
  EXPECT_EQ(stored_iterations(store), 1u);
}

}  // namespace
}  // namespace moe::train_store_test
