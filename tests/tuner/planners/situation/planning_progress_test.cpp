#include "tuner/planners/situation/planning_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "tuner/planners/planners.h"
#include "tuner/scenario/scenario.h"

namespace tuner::planning_progress_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// What is said while it lives.
class Said {
 public:
  Said() {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(text_);
    auto logger = std::make_shared<spdlog::logger>("said", std::move(sink));
    logger->set_pattern("%v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~Said() { spdlog::set_default_logger(before_); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

struct PlanningProgressTest : ::testing::Test {
  Scenario scenario = load_scenario(
      {.model = "box-tiny", .cluster = "box", .database = {}, .ranks = 2, .layout = {}});

  std::string said_of(const char* planner, double silent_s) {
    const Said said;
    PlanningProgress progress("compare", {}, silent_s);
    Situation situation = scenario.situation();
    situation.progress = &progress;
    plan_with(planner_named(planner), situation, {});
    return said.text();
  }
};

TEST_F(PlanningProgressTest, SaysWhichScheduleOfHowManyIsTried) {
  EXPECT_THAT(
      said_of("pipemoe", 0),
      ContainsRegex(
          "compare: pipemoe: 1 of at most [0-9]+, 0 s so far: simulates forward_chunks: 1"));
}

TEST_F(PlanningProgressTest, SaysThatMemoryIsPlannedAndWhatIsFastestSoFar) {
  const Said said;
  PlanningProgress progress("tutel", {}, 0);
  progress.found(3);
  progress.found(2);
  progress.found(4);
  progress.tries("plans the memory of", {});
  EXPECT_THAT(said.text(),
              AllOf(HasSubstr("tutel: 1, 0 s so far: plans the memory of its schedule"),
                    HasSubstr("the fastest so far takes 2")));
}

TEST_F(PlanningProgressTest, IsSilentForAWhileAndBetweenLines) {
  EXPECT_EQ(said_of("pipemoe", 1e6), "");
  const Said said;
  PlanningProgress outer("joint", {}, 1e6);
  PlanningProgress(outer, "tutel", {}).tries("simulates", {});
  EXPECT_EQ(said.text(), "") << "one turn for all";
}

}  // namespace
}  // namespace tuner::planning_progress_test
