#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::setups_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SetupsTest : public ::testing::Test, public OpenApp {
 protected:
  db::PredictedSetup setup(int ranks, int place, const std::string& layout, double time_s,
                           std::int64_t bytes) const {
    return synthetic_setup(ids, ranks, place, layout, time_s, bytes);
  }
  std::vector<std::string> texts(App& app) {
    for (int i = 0; i < 3; ++i) headless.frame([&] { draw_app(app); });
    return drawn_texts();
  }
};

TEST_F(SetupsTest, SayWhereTheyComeFromWhereThereAreNone) {
  App app = open();
  show_panel(app, "setups");
  EXPECT_THAT(texts(app), Contains(HasSubstr("moe-tune search --db FILE")));
}

TEST_F(SetupsTest, AreDrawnWithTheirMemoryAndTheFront) {
  const std::vector<db::PredictedSetup> setups{
      setup(4, 1, "ep=4", 0.010, 400 << 20), setup(4, 2, "dp=2,ep=2", 0.011, 500 << 20),
      setup(4, 3, "ep=2,tp=2", 0.012, 300 << 20), setup(8, 1, "ep=8", 0.005, 200 << 20)};
  db::insert(connection, setups);
  App app = open();
  show_panel(app, "setups");
  const std::vector<std::string> drawn = texts(app);
  EXPECT_THAT(drawn, Contains(HasSubstr("4 ranks")));
  for (const char* text : {"ep=4", "dp=2,ep=2", "ep=2,tp=2", "10.0 ms", "500 MiB", "front"}) {
    EXPECT_THAT(drawn, Contains(text));
  }
  EXPECT_THAT(drawn, Not(Contains("ep=8"))) << "of another number of ranks";
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), "ep=4"), 3) << "in the table and both charts";
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), "\u2022"), 2) << "dp=2,ep=2 is beaten by ep=4";
  EXPECT_EQ(app.session.problem, "");
}

TEST_F(SetupsTest, AreThoseOfTheSearchThatIsSelected) {
  const std::int64_t first = add_search(connection), second = add_search(connection);
  const auto name = [](std::int64_t run) {
    return "run " + std::to_string(run) + ": box-small, 4 ranks of box";
  };
  App app = open(first, "setups");
  EXPECT_THAT(texts(app), Contains(name(first)));
  select_run(app.session, second);
  EXPECT_THAT(texts(app), Contains(name(second)));
  select_run(app.session, ids.sequential_run);
  EXPECT_THAT(texts(app), Contains(name(second))) << "no search";
  select_run(app.session, first);
  show_panel(app, "timeline");
  EXPECT_THAT(texts(app), Contains(HasSubstr("the panel Setups has what it found")));
}

TEST_F(SetupsTest, SayHowManyBlocksAreRestoredAndHowManyOfThemWhole) {
  std::vector<db::PredictedSetup> setups{setup(4, 1, "ep=4", 0.010, 400 << 20)};
  setups[0].restored_blocks = 77;
  setups[0].whole_blocks = 66;
  db::insert(connection, setups);
  App app = open();
  show_panel(app, "setups");
  const std::vector<std::string> drawn = texts(app);
  for (const char* text : {"restored", "77", "whole", "66"}) EXPECT_THAT(drawn, Contains(text));
}

TEST_F(SetupsTest, OfWhichANumberIsWrongAreRefusedWithIt) {
  const std::vector<db::PredictedSetup> setups{setup(4, 1, "ep=4", 0.010, 400 << 20)};
  db::insert(connection, setups);
  connection.database().exec("UPDATE predicted_setup SET predicted_peak_bytes = -5");
  App app = open();
  show_panel(app, "setups");
  texts(app);
  EXPECT_THAT(app.session.problem, HasSubstr("predicted_setup.predicted_peak_bytes = -5"));
}

}  // namespace
}  // namespace viewer::setups_test
