#include "viewer/model/catalog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "db/store.h"
#include "db/timeline/read_timeline.h"
#include "tests/db/sample.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::catalog_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

class CatalogTest : public ::testing::Test {
 protected:
  std::string kind(std::int64_t timeline) const {
    for (const db::TimelineInfo& t : catalog.timelines) {
      if (t.id == timeline) return t.kind;
    }
    return "";
  }
  std::string title(std::int64_t timeline) const {
    for (const db::TimelineInfo& t : catalog.timelines) {
      if (t.id == timeline) return timeline_title(catalog, t);
    }
    return "";
  }

  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
  Catalog catalog = load_catalog(connection);
};

TEST_F(CatalogTest, RunsAreListedLatestFirstWithTheirLastLoss) {
  ASSERT_THAT(catalog.runs, SizeIs(17));
  EXPECT_EQ(catalog.runs.front().status, "running");
  for (std::size_t i = 1; i < catalog.runs.size(); ++i) {
    EXPECT_GE(catalog.runs[i - 1].started_at, catalog.runs[i].started_at);
  }
  const RunRow* run = find_run(catalog, ids.sequential_run);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->planner, "sequential");
  EXPECT_NEAR(run->last_loss.value(), 2.4, 0.1);
  EXPECT_EQ(run->timelines, 2);
  EXPECT_NE(find_run(catalog, ids.failed_run)->error, "");
  EXPECT_FALSE(find_run(catalog, ids.failed_run)->last_loss);
}

TEST_F(CatalogTest, TrialsAreSortedFastestFirstWithTheirSpeedUp) {
  ASSERT_THAT(catalog.trials, SizeIs(7));
  EXPECT_EQ(catalog.trials.front().trial.id, ids.best_trial);
  EXPECT_GT(catalog.trials.front().figures.speedup.value(), 1);
  EXPECT_FALSE(catalog.trials.back().trial.measured_s);
  for (const TrialRow& row : catalog.trials) {
    if (row.trial.planner != "sequential") continue;
    EXPECT_DOUBLE_EQ(row.figures.speedup.value(), 1);
  }
}

TEST_F(CatalogTest, SpeedUpsAndLossesAreThoseOfTheDatabasesView) {
  const auto figures = db::load_trial_figures(connection);
  int measured = 0, changed = 0;
  for (const TrialRow& row : catalog.trials) {
    const db::TrialFigures& of_view = figures.at(row.trial.id);
    EXPECT_EQ(row.figures.speedup, of_view.speedup);
    EXPECT_EQ(row.figures.loss_difference, of_view.loss_difference);
    EXPECT_EQ(row.figures.changes_results, of_view.changes_results);
    measured += row.figures.speedup.has_value() ? 1 : 0;
    changed += row.figures.changes_results.empty() ? 0 : 1;
  }
  EXPECT_EQ(measured, 5);
  EXPECT_EQ(changed, 1);
}

TEST_F(CatalogTest, TheLossOfATrialThatChangesResultsIsHeldAgainstTheSequentialOnes) {
  db::TrialFigures figures;
  figures.last_loss = 2.4021;
  figures.loss_difference = 0.0021;
  EXPECT_EQ(loss_change_text(figures), "") << "nothing but rounding";
  figures.changes_results = "compress_exchange";
  EXPECT_EQ(loss_change_text(figures), "+0.00210");
  figures.loss_difference = std::nullopt;
  EXPECT_EQ(loss_change_text(figures), "") << "not trained";
  for (const TrialRow& row : catalog.trials) {
    if (row.figures.changes_results.empty()) continue;
    const auto stack = trial_stack(catalog, row.trial.id);
    for (const db::TimelineInfo& timeline : catalog.timelines) {
      if (timeline.id != stack.at(1)) continue;
      EXPECT_THAT(comparison_text(catalog, timeline), EndsWith("x, loss +0.00210 to sequential"));
    }
  }
}

TEST_F(CatalogTest, TimelinesOfTrialsComeFirstThenThoseOfRunsLatestFirst) {
  std::vector<std::size_t> trials;
  std::vector<double> started;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    std::size_t place = catalog.trials.size();
    for (std::size_t i = 0; i < catalog.trials.size(); ++i) {
      const std::vector<std::int64_t>& runs = catalog.trials[i].runs;
      const bool repeat =
          timeline.run_id && std::find(runs.begin(), runs.end(), *timeline.run_id) != runs.end();
      if (repeat || timeline.trial_id == catalog.trials[i].trial.id) place = i;
    }
    trials.push_back(place);
    if (place == catalog.trials.size()) {
      started.push_back(-find_run(catalog, timeline.run_id.value())->started_at);
    }
  }
  EXPECT_TRUE(std::is_sorted(trials.begin(), trials.end()));
  EXPECT_TRUE(std::is_sorted(started.begin(), started.end()));
  EXPECT_EQ(started.size(), 4U);
  EXPECT_EQ(catalog.timelines[0].kind, "measured") << "of a trial measured before predicted";
  EXPECT_EQ(catalog.timelines[1].kind, "predicted");
}

TEST_F(CatalogTest, TimelinesOfARunFollowItsIterations) {
  for (const int iteration : {7, 3}) {
    db::TimelineInfo timeline;
    timeline.run_id = ids.sequential_run;
    timeline.kind = "measured";
    timeline.iteration = iteration;
    db::insert(connection, timeline, {}, {});
  }
  const Catalog again = load_catalog(connection);
  std::vector<int> iterations;
  for (const db::TimelineInfo* timeline : timelines_of(again, ids.sequential_run)) {
    iterations.push_back(timeline->iteration);
  }
  EXPECT_THAT(iterations, ElementsAre(3, 7, 199, 199));
}

TEST_F(CatalogTest, APredictedTimelineIsHeldAgainstTheMeasuredOneOfItsOwnTrial) {
  for (const TrialRow& trial : catalog.trials) {
    for (const db::TimelineInfo& timeline : catalog.timelines) {
      if (timeline.trial_id != trial.trial.id || timeline.kind != "predicted") continue;
      const db::TimelineInfo* measured = measured_beside(catalog, timeline);
      ASSERT_EQ(measured != nullptr, trial.trial.measured_s.has_value());
      if (measured == nullptr) {
        EXPECT_EQ(comparison_text(catalog, timeline), "");
        continue;
      }
      EXPECT_EQ(measured->run_id, trial.runs.at(0));
      EXPECT_THAT(comparison_text(catalog, timeline), ::testing::EndsWith(trial_text(trial)));
    }
  }
}

TEST_F(CatalogTest, APredictionOfATrainingRunIsHeldAgainstThatRun) {
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    if (timeline.run_id != ids.pipelined_run || timeline.kind != "predicted") continue;
    const db::TimelineInfo* measured = measured_beside(catalog, timeline);
    ASSERT_NE(measured, nullptr);
    EXPECT_EQ(measured->run_id, ids.pipelined_run);
    EXPECT_EQ(comparison_text(catalog, *measured), "") << "no trial, no speed-up";
  }
}

TEST_F(CatalogTest, AMeasuredTimelineOfATrialTellsTheTrialsSpeedUp) {
  const std::vector<std::int64_t> stack = trial_stack(catalog, ids.best_trial);
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    if (timeline.id != stack[1]) continue;
    for (TrialRow& row : catalog.trials) row.figures.speedup_against = "tutel";
    EXPECT_THAT(comparison_text(catalog, timeline), testing::EndsWith("x against tutel"));
    for (TrialRow& row : catalog.trials) row.figures.speedup_against = db::kSequential;
    EXPECT_EQ(comparison_text(catalog, timeline),
              fmt::format("{}, speed-up {:.2f}x", trial_text(*find_trial(catalog, ids.best_trial)),
                          find_trial(catalog, ids.best_trial)->figures.speedup.value()));
  }
}

TEST_F(CatalogTest, TheTrialsFigureHasTheSpreadOfItsRepeats) {
  TrialRow row = *find_trial(catalog, ids.best_trial);
  row.trial.measured_s = 0.0452;
  row.figures.repeats = 3;
  row.figures.min_repeat_s = 0.0441;
  row.figures.max_repeat_s = 0.046;
  EXPECT_EQ(trial_text(row), "trial 45.2 ms (44.1 ms to 46.0 ms in 3 repeats)");
  row.figures.repeats = 1;
  EXPECT_EQ(trial_text(row), "trial 45.2 ms");
  row.trial.measured_s.reset();
  EXPECT_EQ(trial_text(row), "");
}

TEST_F(CatalogTest, APredictionIsHeldAgainstTheTrialsFigure) {
  TrialRow& row = catalog.trials.front();
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    if (timeline.trial_id != row.trial.id || timeline.kind != "predicted") continue;
    row.trial.measured_s = timeline.duration_s * 2;  // whatever the iteration of a repeat took
    EXPECT_THAT(comparison_text(catalog, timeline),
                ::testing::StartsWith("-50.0% against the trial"));
  }
}

TEST_F(CatalogTest, ComparesMeasuredWithPredictedAndTheOtherWayRound) {
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    const db::TimelineInfo* other = compared_with(catalog, timeline);
    if (other == nullptr) continue;
    EXPECT_NE(other->kind, timeline.kind);
    EXPECT_TRUE(timeline.trial_id ? other->trial_id == timeline.trial_id
                                  : other->run_id == timeline.run_id);
  }
}

TEST_F(CatalogTest, ARunThatWasSilentForDaysDoesNotRun) {
  RunRow run;
  run.status = "running";
  run.silent_s = 30;
  EXPECT_EQ(shown_status(run), "running");
  EXPECT_EQ(sign_of_life_text(run), "last sign of life 30.0 s ago");
  run.silent_s = 7 * 86400;
  EXPECT_EQ(shown_status(run), "silent");
  EXPECT_EQ(sign_of_life_text(run), "last sign of life 7 days ago");
  run.status = "done";
  run.silent_s = 0;
  EXPECT_EQ(shown_status(run), "done");
}

TEST_F(CatalogTest, ATimelineOfAPacedNetworkSaysSo) {
  for (RunRow& run : catalog.runs) run.network = "paced box 0.5 Gbit/s";
  const db::TimelineInfo* timeline = timelines_of(catalog, ids.pipelined_run).at(0);
  EXPECT_THAT(timeline_source(catalog, *timeline),
              ::testing::EndsWith("iteration 199, paced box 0.5 Gbit/s"));
  EXPECT_TRUE(matches(*find_run(catalog, ids.pipelined_run), "paced"));
}

TEST_F(CatalogTest, ATitleNamesPlannerAndModelAndTheSourceRunAndIteration) {
  const db::TimelineInfo* timeline = timelines_of(catalog, ids.pipelined_run).at(0);
  EXPECT_EQ(timeline_title(catalog, *timeline), "pipemoe, box-small");
  EXPECT_EQ(timeline_source(catalog, *timeline),
            fmt::format("run {}, schedule {}, iteration 199", ids.pipelined_run,
                        find_run(catalog, ids.pipelined_run)->schedule_id.value()));
  const std::vector<std::int64_t> stack = trial_stack(catalog, ids.best_trial);
  for (const db::TimelineInfo& of_trial : catalog.timelines) {
    if (of_trial.id == stack[1]) {
      EXPECT_EQ(timeline_source(catalog, of_trial),
                fmt::format("run {}, iteration 199", of_trial.run_id.value()));
    }
    if (of_trial.id == stack[2]) {
      EXPECT_EQ(timeline_source(catalog, of_trial), "");
    }
  }
}

TEST_F(CatalogTest, ATrainingRunStacksMeasuredAbovePredicted) {
  const std::vector<std::int64_t> stack = default_stack(catalog, ids.sequential_run);
  ASSERT_THAT(stack, SizeIs(2));
  EXPECT_EQ(kind(stack[0]), "measured");
  EXPECT_EQ(kind(stack[1]), "predicted");
}

TEST_F(CatalogTest, AStudyStacksSequentialAboveItsFastest) {
  const std::vector<std::int64_t> stack = default_stack(catalog, ids.study_run);
  ASSERT_THAT(stack, SizeIs(2));
  EXPECT_EQ(title(stack[0]), "sequential");
  EXPECT_THAT(title(stack[1]), ::testing::StartsWith("pipemoe, "));
  EXPECT_EQ(kind(stack[1]), "measured");
}

TEST_F(CatalogTest, ATrialStacksSequentialThenItsOwnMeasuredAndPredicted) {
  const std::vector<std::int64_t> stack = trial_stack(catalog, ids.best_trial);
  ASSERT_THAT(stack, SizeIs(3));
  EXPECT_EQ(title(stack[0]), "sequential");
  EXPECT_EQ(kind(stack[1]), "measured");
  EXPECT_EQ(kind(stack[2]), "predicted");
  EXPECT_TRUE(trial_stack(catalog, 999).empty());
}

TEST_F(CatalogTest, ARepeatStacksItsOwnMeasuredTimelineAboveItsTrialsPredictedOne) {
  const std::int64_t repeat = find_trial(catalog, ids.best_trial)->runs.at(0);
  const std::vector<std::int64_t> stack = default_stack(catalog, repeat);
  ASSERT_THAT(stack, SizeIs(2));
  EXPECT_EQ(kind(stack[0]), "measured");
  EXPECT_EQ(kind(stack[1]), "predicted");
}

TEST_F(CatalogTest, TheFirstRunShownIsTheStudyWhoseRepeatWasTheLatestWithATimeline) {
  EXPECT_EQ(first_run(catalog), ids.study_run);
}

TEST_F(CatalogTest, AnEmptyDatabaseHasNothingToShow) {
  const db::Connection empty = db::open_writer(":memory:");
  EXPECT_EQ(first_run(load_catalog(empty)), std::nullopt);
}

TEST_F(CatalogTest, FilterWordsAreFoundInAnyColumnIgnoringCase) {
  const RunRow* run = find_run(catalog, ids.sequential_run);
  EXPECT_TRUE(matches(*run, ""));
  EXPECT_TRUE(matches(*run, "BOX seq"));
  EXPECT_TRUE(matches(*run, std::to_string(ids.sequential_run)));
  EXPECT_FALSE(matches(*run, "box pipemoe"));
  EXPECT_TRUE(matches(*run, "ep=4"));
}

TEST_F(CatalogTest, RunDataHoldsLossesAndLoadsSummedOverRanks) {
  const RunData run = load_run(connection, ids.sequential_run);
  EXPECT_THAT(run.iterations, SizeIs(200));
  EXPECT_THAT(run.loads.iterations, SizeIs(200));
  EXPECT_THAT(run.loads.layers, ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_EQ(run.loads.experts, 16);
  EXPECT_THAT(run.balances.iterations, SizeIs(200));
  EXPECT_NEAR(static_cast<double>(run.balances.of(0, 1).tokens), 4 * 2 * 2048, 400);
}

TEST(RunData, HoldsTheIterationsOfTheRunsThatItGoesOnFrom) {
  db::Connection connection = db::open_writer(":memory:");
  const std::int64_t machine = db::find_or_insert(connection, db::sample_machine());
  std::optional<std::int64_t> before;
  for (const int first : {1, 3}) {
    db::Run run = db::sample_run(machine);
    run.resumes_run_id = before;
    before = db::insert(connection, run);
    std::vector<db::Iteration> rows(4);
    for (int i = 0; i < 4; ++i) {
      rows[i].run_id = *before;
      rows[i].iteration = first + i;
    }
    db::insert(connection, rows);
  }
  const RunData run = load_run(connection, *before);
  EXPECT_EQ(run.iterations.front().iteration, 3);
  ASSERT_THAT(run.before, SizeIs(2)) << "iterations 3 and 4 of the first run are void";
  EXPECT_EQ(run.before.back().iteration, 2);
}

TEST_F(CatalogTest, ATimelineIsLoadedWithAllItsSpans) {
  const std::vector<std::int64_t> stack = default_stack(catalog, ids.sequential_run);
  for (const db::TimelineInfo& info : catalog.timelines) {
    if (info.id != stack[0]) continue;
    const Timeline timeline = read_timeline(connection, info);
    EXPECT_EQ(timeline.lanes.size(), 16U);
    EXPECT_EQ(timeline.spans, 4 * timeline.ops.size());
    EXPECT_NEAR(timeline.extent.end_s, info.duration_s, 1e-9);
  }
}

TEST(ParametersText, ReadsAsWords) {
  EXPECT_EQ(parameters_text(R"({"forward_chunks": 4})"), "forward chunks 4");
  EXPECT_EQ(parameters_text(R"({"a": "b", "c": [1, 2]})"), "a b, c [1,2]");
  EXPECT_EQ(parameters_text(R"({"forward_chunks": 4, "backward_chunks": 3, "axis": "batch"})"),
            "chunks 4/3, axis batch");
  EXPECT_EQ(parameters_text("{}"), "");
  EXPECT_EQ(parameters_text("not json"), "not json");
}

TEST(LayoutText, LeavesOutWhatDividesNothing) {
  EXPECT_EQ(divided_text("dp=1,ep=2,esp=2,tp=1"), "ep=2 esp=2");
  EXPECT_EQ(divided_text("dp=1,ep=11,esp=1,tp=1"), "ep=11");
  EXPECT_EQ(divided_text("dp=1,ep=1,esp=1,tp=1"), "");
  EXPECT_EQ(divided_text(""), "");
}

}  // namespace
}  // namespace viewer::catalog_test
