#include "db/load_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "db/load.h"
#include "db/query.h"
#include "db/timeline/statistics.h"
#include "tests/db/sample.h"

namespace db::load_views_test {
namespace {

class LoadViews : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
};

TEST_F(LoadViews, RunsAreNewestFirstWithTheirLastLoss) {
  db::Run later = sample_run(sample.machine);
  later.kind = "bench";
  later.network = "paced box 0.5 Gbit/s";
  later.started_at = now() + 10;
  const auto later_id = insert(connection, later);
  const auto runs = load_run_overviews(connection);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].id, later_id);
  EXPECT_EQ(runs[0].last_loss, std::nullopt);
  EXPECT_EQ(runs[0].network, "paced box 0.5 Gbit/s");
  EXPECT_EQ(runs[1].id, sample.run);
  EXPECT_EQ(runs[1].kind, "train");
  EXPECT_EQ(runs[1].status, "done");
  EXPECT_EQ(runs[1].last_loss, 3.5);
  EXPECT_EQ(runs[1].layout, "dp=1,ep=2,esp=1,tp=1");
}

TEST_F(LoadViews, BalancesAreByIterationAndLayer) {
  const std::vector<Balance> more{
      {sample.run, 1, 0, 4, 4, 0, {}, 0, 0, {}, {}, {}, {}, {}, {}},
      {sample.run + 1, 1, 0, 4, 4, 0, {}, 0, 0, {}, {}, {}, {}, {}, {}}};
  insert(connection, sample_run(sample.machine));
  insert(connection, more);
  const auto rows = load_balances(connection, sample.run);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].locality, std::nullopt);
  EXPECT_EQ(rows[0].dropped_tokens, 20);
  EXPECT_DOUBLE_EQ(rows[0].max_over_mean.value(), 1.6);
  EXPECT_DOUBLE_EQ(rows[0].rank_max_over_mean.value(), 1.4);
  EXPECT_EQ(rows[1].layer, 0) << "before layer 1 of the same iteration";
  EXPECT_EQ(rows[1].max_over_mean, std::nullopt) << "there were no tokens";
  EXPECT_EQ(rows[1].rank_max_over_mean, std::nullopt);
  EXPECT_EQ(rows[3].locality, 1);
}

TEST_F(LoadViews, TheRateOfACommunicationIsThatOfItsTransfer) {
  TimelineInfo timeline;
  timeline.kind = "measured";
  std::vector<Span> spans = sample_spans();
  spans[1].waiting_s = 0.003;  // of 4 ms, 4 MB
  spans[4].waiting_s = 0.003;  // of 3 ms: nothing was transferred
  const std::int64_t id = insert(connection, timeline, sample_ops(), spans);
  Query rows(connection,
             "SELECT bandwidth_bytes_per_s FROM span_view WHERE timeline = ?1 AND op = 1 "
             "ORDER BY rank",
             {Cell(id)});
  EXPECT_NEAR(std::get<double>(rows.next().value()[0]), 4e9, 1);
  EXPECT_EQ(rows.next(), std::vector<Cell>{Cell()});
  Query unknown(connection,
                "SELECT bandwidth_bytes_per_s FROM span_view WHERE timeline = ?1 AND op = 1",
                {Cell(sample.measured)});
  EXPECT_NEAR(std::get<double>(unknown.next().value()[0]), 1e9, 1) << "nothing tells it";
}

TEST_F(LoadViews, SpeedUpIsMeasuredSequentialOverMeasured) {
  const auto figures = load_trial_figures(connection);
  EXPECT_EQ(figures.size(), 3U);
  EXPECT_EQ(figures.at(sample.trials[0]).speedup, 1);
  EXPECT_EQ(figures.at(sample.trials[1]).speedup, 2);
  EXPECT_EQ(figures.at(sample.trials[2]).speedup, std::nullopt) << "it ran out of memory";
}

TEST_F(LoadViews, SpeedUpIsOverTheFastestWhereSequentialIsInfeasible) {
  EXPECT_EQ(load_trial_figures(connection).at(sample.trials[1]).speedup_against, "sequential");
  Trial slower = sample_trial(connection, sample.study, "fsmoe");
  slower.id = find_or_insert(connection, slower);
  slower.status = "done";
  slower.measured_s = 0.4;
  finish_trial(connection, slower);
  Trial sequential = load_trials(connection, sample.study)[0];
  sequential.measured_s.reset();
  finish_trial(connection, sequential);
  auto figures = load_trial_figures(connection);
  EXPECT_EQ(figures.at(slower.id).speedup, std::nullopt) << "sequential may still be measured";
  EXPECT_EQ(figures.at(slower.id).speedup_against, "");
  sequential.status = "infeasible";
  finish_trial(connection, sequential);
  figures = load_trial_figures(connection);
  EXPECT_EQ(figures.at(sample.trials[1]).speedup, 1);
  EXPECT_EQ(figures.at(slower.id).speedup, 0.25);
  EXPECT_EQ(figures.at(slower.id).speedup_against, "tutel");
  EXPECT_EQ(figures.at(sample.trials[0]).speedup, std::nullopt);
}

TEST_F(LoadViews, TheShortestIterationOfATrialIsOfAllItsRepeats) {
  const std::int64_t other = insert(connection, sample_run(sample.machine));
  Iteration shortest;
  shortest.run_id = other;
  shortest.duration_s = 0.07;
  insert(connection, std::span<const Iteration>(&shortest, 1));
  insert(connection, TrialRepeat{sample.trials[1], 2, other, 0.1, 3});
  const auto figures = load_trial_figures(connection);
  EXPECT_EQ(figures.at(sample.trials[1]).min_iteration_s, 0.07);
  EXPECT_EQ(figures.at(sample.trials[0]).min_iteration_s, 0.1);
  EXPECT_EQ(figures.at(sample.trials[2]).min_iteration_s, std::nullopt);
}

TEST_F(LoadViews, LossDifferenceIsOverTheSequentialTrials) {
  const std::int64_t rounded = insert(connection, sample_run(sample.machine));
  Iteration last;
  last.run_id = rounded;
  last.iteration = 2;
  last.loss = 3.625;
  insert(connection, std::span<const Iteration>(&last, 1));
  finish_run(connection, rounded, "done");
  Schedule schedule{0, "", "given", R"({"decisions":"bf16"})", "compress_exchange"};
  Trial trial;
  trial.study_id = sample.study;
  trial.schedule_id = find_or_insert(connection, schedule);
  trial.planner = "given";
  trial.id = find_or_insert(connection, trial);
  insert(connection, TrialRepeat{trial.id, 2, rounded, 0.05, 3});
  insert(connection, TrialRepeat{trial.id, 1, sample.run, 0.05, 3});
  const auto figures = load_trial_figures(connection);
  EXPECT_EQ(figures.at(trial.id).changes_results, "compress_exchange");
  EXPECT_EQ(figures.at(trial.id).last_loss, 3.625);
  EXPECT_EQ(figures.at(trial.id).sequential_last_loss, 3.5);
  EXPECT_EQ(figures.at(trial.id).loss_difference, 0.125);
  EXPECT_EQ(figures.at(sample.trials[1]).changes_results, "");
  EXPECT_EQ(figures.at(sample.trials[1]).loss_difference, 0);
  EXPECT_EQ(figures.at(sample.trials[2]).loss_difference, std::nullopt) << "it ran out of memory";
}

/// Spans of four activities at random on two ranks, ends that coincide and lengths of 0 among them.
TEST(ActivityView, SaysOfEveryRankWhatRankStatisticsDoes) {
  Connection connection = open_writer(":memory:");
  const std::vector<std::string> activities{"computation", "communication", "copy", "host"};
  std::vector<TimelineOp> ops;
  for (int op = 0; op < 40; ++op) {
    ops.push_back({0, op, "op", "kind", activities[op % 4], "stream", "forward", -1, 0, 1,
                   op % 8 == 1 ? "odd_boundary" : "expert"});
  }
  std::mt19937_64 engine(5);
  std::uniform_int_distribution<int> start(0, 90), length(0, 9);
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<Span> spans;
    std::vector<ActivityIntervals> of_rank(2);
    for (int rank = 0; rank < 2; ++rank) {
      for (const TimelineOp& op : ops) {
        const double begin_s = start(engine), length_s = length(engine);
        spans.push_back({0, rank, op.op, begin_s, length_s, 0, 0});
        const double waiting_s = std::min<double>(length_s, length(engine));
        const bool waits = op.activity == "communication" && op.op % 3 > 0;  // else it is not known
        if (waits) spans.back().waiting_s = waiting_s;
        add_span(of_rank[rank], counted_as(op), {begin_s, begin_s + length_s},
                 waits ? waiting_s : 0);
      }
    }
    TimelineInfo timeline;
    timeline.kind = "imported";
    timeline.duration_s = 100;
    const std::int64_t id = insert(connection, timeline, ops, spans);
    Query rows(connection,
               "SELECT rank, computation_s, communication_s, exposed_s, copy_s, "
               "exposed_transfer_s, exposed_waiting_s, exposed_bubble_s FROM activity_view "
               "WHERE timeline = ?1 ORDER BY rank",
               {Cell(id)});
    for (int rank = 0; rank < 2; ++rank) {
      const RankStatistics expected = rank_statistics(rank, of_rank[rank], {0, 100});
      EXPECT_EQ(
          rows.next(),
          (std::vector<Cell>{std::int64_t{rank}, expected.computation_s, expected.communication_s,
                             expected.exposed_s, expected.copy_s, expected.exposed_transfer_s(),
                             expected.exposed_waiting_s, expected.exposed_bubble_s}));
    }
    EXPECT_EQ(rows.next(), std::nullopt);
  }
}

}  // namespace
}  // namespace db::load_views_test
