#include "tuner/study/compared_layouts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/store.h"
#include "tests/db/sample.h"

namespace tuner::compared_layouts_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct ComparedLayoutsTest : ::testing::Test {
  db::Connection connection = db::open_writer(":memory:");
  std::vector<StudyOfLayout> studies;

  void begin(const std::string& layout, const std::string& profile_runs = "") {
    db::Study row;
    row.name = "s " + layout;
    row.part_of = "s";
    row.profile_runs_json = profile_runs;
    studies.push_back({layout, db::insert(connection, row)});
  }
  /// Of the study that was begun last.
  void add(const std::string& planner, double predicted_s, const std::vector<double>& repeats,
           std::optional<std::int64_t> predicted_bytes = {},
           std::optional<std::int64_t> measured_bytes = {}, std::int64_t arena_bytes = 0) {
    db::Trial trial = db::sample_trial(connection, studies.back().study_id, planner);
    trial.predicted_s = predicted_s;
    trial.predicted_peak_bytes = predicted_bytes;
    trial.status = "planned";
    trial.id = db::find_or_insert(connection, trial);
    if (repeats.empty()) return;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      std::optional<std::int64_t> run;
      if (arena_bytes > 0) {
        run = db::begin_run(connection, db::sample_run(0), db::sample_machine());
        db::RunRank rank;
        rank.run_id = *run;
        rank.predicted_peak_bytes = arena_bytes;
        db::insert(connection, std::span<const db::RunRank>(&rank, 1));
      }
      db::insert(connection,
                 db::TrialRepeat{trial.id, static_cast<int>(i) + 1, run, repeats[i], 5});
    }
    trial.status = "done";
    trial.measured_s = db::median(repeats);
    trial.measured_peak_bytes = measured_bytes;
    db::finish_trial(connection, trial);
  }

  /// Of the two layouts.
  void expect_the_pair_out_of_order() const {
    EXPECT_THAT(compared_layouts(connection, studies).lines,
                Contains("layouts by their fastest trials: repeats tell 1 of 1 pairs apart, 0 of "
                         "them are in the predicted order"));
  }
};

TEST_F(ComparedLayoutsTest, OneOrderOfAllTrialsBesideThePredictedOne) {
  begin("ep=4");
  add("sequential", 2.0, {2.0, 2.0, 2.0});
  add("joint", 1.5, {1.5, 1.501, 1.499});
  begin("dp=2,ep=2");
  add("sequential", 1.0, {1.0, 1.001, 0.999});
  add("joint", 0.9, {});
  begin("dp=4,ep=1");
  add("sequential", 0.8, {1.002, 1.0, 0.999});  // predicted to be the best, and tied
  const ComparedLayouts compared = compared_layouts(connection, studies);
  ASSERT_EQ(compared.trials.size(), 5u);
  std::vector<std::string> order;
  for (const LayoutTrial& one : compared.trials)
    order.push_back(one.layout + ' ' + one.trial.planner);
  EXPECT_THAT(order, Contains("dp=2,ep=2 joint")) << "it was not measured";
  EXPECT_EQ(order.back(), "dp=2,ep=2 joint");
  EXPECT_EQ(order[2], "ep=4 joint");
  EXPECT_EQ(order[3], "ep=4 sequential");
  const LayoutTrial& slowest = compared.trials[3];
  EXPECT_EQ(slowest.place, 4);
  EXPECT_EQ(slowest.predicted_place, 4);
  EXPECT_DOUBLE_EQ(slowest.speedup.value(), 1) << "sequential of the first layout";
  EXPECT_NEAR(compared.trials[0].speedup.value(), 2, 1e-2);
  const std::size_t tied = order[0] == "dp=4,ep=1 sequential" ? 0 : 1;
  EXPECT_EQ(compared.trials[tied].predicted_place, 1);
  EXPECT_EQ(compared.trials[tied].tied_with, "dp=2,ep=2 sequential");
  EXPECT_THAT(compared.lines,
              Contains("layouts by their fastest trials: repeats tell 2 of 3 pairs apart, 2 of "
                       "them are in the predicted order"));
  EXPECT_THAT(compared.lines.front(), HasSubstr("times as fast as ep=4 sequential"));
  EXPECT_THAT(
      compared.lines,
      Contains("the predicted best, dp=4,ep=1 sequential, takes 0.0% longer than the measured "
               "best, dp=2,ep=2 sequential, which the repeats do not tell from none"));
}

TEST_F(ComparedLayoutsTest, TellHowFarThePredictedBestIsFromTheMeasuredBest) {
  begin("ep=4");
  add("sequential", 1.0, {2.0, 2.0, 2.0});
  begin("ep=2,tp=2");
  add("sequential", 1.1, {1.6, 1.6, 1.6});
  EXPECT_THAT(compared_layouts(connection, studies).lines,
              Contains("the predicted best, ep=4 sequential, takes 25.0% longer than the measured "
                       "best, ep=2,tp=2 sequential"));
  begin("dp=2,ep=2");
  add("sequential", 0.9, {1.601, 1.7, 1.5});  // not told from the best
  EXPECT_THAT(
      compared_layouts(connection, studies).lines,
      Contains(::testing::AllOf(HasSubstr("the predicted best, dp=2,ep=2 sequential, takes "),
                                HasSubstr("which the repeats do not tell from none"))));
}

TEST_F(ComparedLayoutsTest, EqualPredictionsAreNoOrder) {
  begin("ep=2");
  add("sequential", 1.0, {2.0, 2.0, 2.0});
  begin("dp=2,ep=1");
  add("sequential", 1.0, {1.0, 1.0, 1.0});
  expect_the_pair_out_of_order();
}

TEST_F(ComparedLayoutsTest, TellHowMuchMemoryIsPredictedToTheByte) {
  begin("ep=4");
  add("sequential", 1.0, {1.0, 1.0}, 1000, 950, 1000);
  begin("dp=2,ep=2");
  add("sequential", 1.1, {1.1, 1.1}, 900, 1000, 1000);
  EXPECT_THAT(compared_layouts(connection, studies).lines,
              Contains("the arena of the fullest rank is predicted to the byte in 1 of 2 trials "
                       "(farthest off: dp=2,ep=2 sequential by -10%); ranks wrote to 95.0% to "
                       "100.0% of it"));
}

TEST_F(ComparedLayoutsTest, TellInWhichLayoutsCostsWereProfiled) {
  const auto run = [&](const char* layout) {
    db::Run trained = db::sample_run(0);
    trained.layout = layout;
    return db::begin_run(connection, trained, db::sample_machine());
  };
  const auto first = run("dp=1,ep=4,esp=1,tp=1,pp=1"), second = run("dp=1,ep=4,esp=1,tp=1,pp=1"),
             third = run("dp=1,ep=2,esp=1,tp=2,pp=1");
  const std::string all = fmt::format("[{},{},{}]", first, second, third);
  for (const char* layout : {"ep=4", "ep=2,tp=2", "dp=2,ep=2"}) {
    begin(layout, all);
    add("sequential", 1.0, {1.0, 1.0});
  }
  EXPECT_THAT(compared_layouts(connection, studies).lines,
              Contains(HasSubstr("costs were profiled in 2 of 3 layouts: ep=4 (2 runs), ")));
}

TEST_F(ComparedLayoutsTest, APairInTheOppositeOrderIsCounted) {
  begin("ep=2");
  add("sequential", 1.0, {2.0, 2.0, 2.0});
  EXPECT_THAT(compared_layouts(connection, studies).lines,
              Contains("the predicted best is the measured best: ep=2 sequential"));
  begin("dp=2,ep=1");
  add("sequential", 3.0, {1.0, 1.0, 1.0});
  expect_the_pair_out_of_order();
}

TEST_F(ComparedLayoutsTest, OfNothingMeasuredThePredictionsAreLeft) {
  begin("ep=2");
  add("sequential", 1.0, {});
  const ComparedLayouts compared = compared_layouts(connection, studies);
  EXPECT_TRUE(compared.lines.empty());
  ASSERT_EQ(compared.trials.size(), 1u);
  EXPECT_FALSE(compared.trials[0].place);
}

}  // namespace
}  // namespace tuner::compared_layouts_test
