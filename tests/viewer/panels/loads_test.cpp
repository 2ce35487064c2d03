#include "viewer/panels/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"

namespace viewer::loads_test {
namespace {

class LoadsTest : public ::testing::Test, public OpenApp {};

TEST_F(LoadsTest, PlayingMovesTheIterationAndAsksForFrames) {
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const auto& panel = app.states.of<LoadPanel>();
  EXPECT_EQ(panel.iteration, 199U);
  EXPECT_FALSE(is_moving(app));
  headless.press(263, draw);  // left
  EXPECT_EQ(panel.iteration, 198U);
  headless.press(32, draw);  // space
  EXPECT_TRUE(is_moving(app));
  for (int i = 0; i < 30; ++i) headless.frame(draw);  // half a second
  EXPECT_NE(panel.iteration, 198U);
  headless.press(32, draw);
  EXPECT_FALSE(is_moving(app));
}

TEST_F(LoadsTest, WithoutStoredLoadsItStepsThroughTheBalanceOfAllIterations) {
  App app = open(ids.sequential_run, "loads");
  app.session.run.loads = {};
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const auto& panel = app.states.of<LoadPanel>();
  EXPECT_EQ(panel.shown_iterations, 200U);
  headless.press(263, draw);
  EXPECT_EQ(panel.iteration, 198U);
}

TEST_F(LoadsTest, ShowsWhatWasAskedForWhereThatIsWanted) {
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  const auto is_drawn = [&](const char* word) {
    for (int i = 0; i < 2; ++i) headless.frame(draw);
    const std::vector<std::string> texts = drawn_texts();
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(word) != std::string::npos;
    });
  };
  ASSERT_FALSE(app.session.run.asked.empty());
  EXPECT_FALSE(is_drawn("Tokens asked for per layer"));
  app.states.of<LoadPanel>().asked = true;
  EXPECT_TRUE(is_drawn("Tokens asked for per layer"));
  EXPECT_TRUE(is_drawn("Step 1,"));
  app.session.run.asked = {};  // a database that does not tell
  EXPECT_FALSE(is_drawn("Tokens asked for per layer"));
}

TEST_F(LoadsTest, BarsOfRanksSayWhatPlacementDid) {
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  const auto is_drawn = [&](const char* word) {
    for (int i = 0; i < 3; ++i) headless.frame(draw);
    const std::vector<std::string> texts = drawn_texts();
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(word) != std::string::npos;
    });
  };
  EXPECT_FALSE(is_drawn("Tokens of ranks")) << "a database of before";
  const int iteration = app.session.run.loads.iterations.back();
  const int layer = app.session.run.loads.layers.front();
  RankLoads& ranks = app.session.run.ranks;
  for (int rank = 0; rank < 4; ++rank) {
    const bool full = rank == 0;
    ranks.loads.push_back(
        {1, iteration, layer, rank, full ? 500 : 100, full ? 600 : 100, full ? 290 : 170});
    ranks.places.push_back({1, iteration, layer, rank, rank, 0});
  }
  ranks.places.insert(ranks.places.begin() + 2, {1, iteration, layer, 1, 0, 1});
  std::sort(ranks.places.begin(), ranks.places.end(),
            [](const db::ExpertPlace& a, const db::ExpertPlace& b) { return a.rank < b.rank; });
  app.states.of<LoadPanel>().layer = 0;
  EXPECT_TRUE(is_drawn("asked 2.67"));
  EXPECT_TRUE(is_drawn("before placement 2.50"));
  EXPECT_TRUE(is_drawn("after 1.45"));
  EXPECT_TRUE(is_drawn("expert 0 of rank 0, also on 1"));
  app.states.of<LoadPanel>().layer = 1;
  EXPECT_FALSE(is_drawn("Tokens of ranks")) << "nothing is stored of that layer";
}

TEST_F(LoadsTest, OpensOnTheLeastEvenLayerOfEachRunUntilOneIsChosen) {
  App app = open(ids.sequential_run, "loads");
  const auto draw = [&] { draw_app(app); };
  const auto& panel = app.states.of<LoadPanel>();
  headless.frame(draw);
  const BalanceTable& table = app.session.run.balances;
  const db::BalanceOverview* worst = least_even(table, table.iterations.size() - 1);
  ASSERT_NE(worst, nullptr);
  EXPECT_EQ(app.session.run.loads.layers[panel.layer], worst->layer);
  // Another run, of which another layer is the least even.
  const auto show = [&](std::size_t layer) {
    ++app.session.run.run_id;
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      const std::size_t row = (table.iterations.size() - 1) * table.layers.size() + l;
      app.session.run.balances.rows[row].max_over_mean = l == layer ? 9 : 1;
    }
    headless.frame(draw);
  };
  show(0);
  EXPECT_EQ(panel.layer, 0U);
  show(2);
  EXPECT_EQ(panel.layer, 2U);
  const auto row = drawn_place("Balance,");
  ASSERT_TRUE(row);
  for (float y = row->y; y < row->y + 120 && !panel.is_layer_chosen; y += 8) {
    headless.click({row->x, y}, draw);
  }
  ASSERT_TRUE(panel.is_layer_chosen);
  const std::size_t chosen = panel.layer;
  EXPECT_NE(chosen, 2U);
  show(2);
  EXPECT_EQ(panel.layer, chosen) << "the same layer of another run";
}

TEST_F(LoadsTest, FollowsTheLeastEvenLayerOfARunUntilOneIsChosen) {
  App app = open(ids.sequential_run, "loads");
  auto& panel = app.states.of<LoadPanel>();
  const RunData complete = app.session.run;
  // The run after so many iterations, in the last of which this layer is the least even.
  const auto follow = [&](std::size_t iterations, std::size_t layer) {
    RunData& run = app.session.run;
    run = complete;
    run.loads = {};
    run.asked = {};
    if (iterations == 0) run.balances = {};
    const std::size_t layers = run.balances.layers.size();
    run.balances.iterations.resize(iterations);
    run.balances.rows.resize(iterations * layers);
    for (std::size_t l = 0; l < layers; ++l) {
      run.balances.rows[(iterations - 1) * layers + l].max_over_mean = l == layer ? 9 : 1;
    }
    headless.frame([&] { draw_app(app); });
  };
  follow(0, 0);
  EXPECT_EQ(panel.shown_run, complete.run_id);
  EXPECT_EQ(panel.shown_iterations, 0U);
  follow(10, 2);
  EXPECT_EQ(panel.layer, 2U) << "its first loads";
  follow(20, 0);
  EXPECT_EQ(panel.layer, 0U) << "of the last iteration";
  panel.layer = 1;
  panel.is_layer_chosen = true;
  follow(30, 2);
  EXPECT_EQ(panel.layer, 1U);
  follow(0, 0);
  follow(10, 2);
  EXPECT_EQ(panel.layer, 1U) << "no loads in between";
}

TEST_F(LoadsTest, IterationsWithoutStoredLoadsArePassedOver) {
  App app = open(ids.sequential_run, "loads");
  std::vector<db::Load> rows;
  for (const int iteration : {1, 50, 100}) rows.push_back({1, iteration, 1, 0, 0, 9});
  app.session.run.loads = build_load_table(rows);
  headless.frame([&] { draw_app(app); });
  EXPECT_EQ(app.states.of<LoadPanel>().shown_iterations, 3U);
  EXPECT_EQ(app.states.of<LoadPanel>().iteration, 2U);
}

}  // namespace
}  // namespace viewer::loads_test
