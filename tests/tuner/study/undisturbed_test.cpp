#include "tuner/study/undisturbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tuner::undisturbed_test {
namespace {

using ::testing::HasSubstr;

WatchedRun run(double share_of_others, double seconds, const std::string& status = "done") {
  WatchedRun watched;
  JobResult& result = watched.results.emplace_back();
  result.status = status;
  result.iteration_s = seconds;
  watched.share_of_others = share_of_others;
  return watched;
}

struct Undisturbed : ::testing::Test {
  std::size_t trained = 0;
  std::string said;

  WatchedRun of(const std::vector<WatchedRun>& runs, double most_of_others) {
    trained = 0;
    said.clear();
    return least_disturbed([&] { return runs.at(trained++); }, most_of_others,
                           [&](const std::string& text) { said += text; });
  }
};

TEST_F(Undisturbed, TrainsOnceWhereOthersLeaveTheProcessorsAlone) {
  EXPECT_EQ(of({run(0.1, 1)}, 0.1).results.front().iteration_s, 1);
  EXPECT_EQ(trained, 1u);
  EXPECT_EQ(said, "");
}

TEST_F(Undisturbed, TrainsAgainUntilOthersDo) {
  EXPECT_EQ(of({run(0.4, 1), run(0.05, 2)}, 0.1).results.front().iteration_s, 2);
  EXPECT_EQ(trained, 2u);
  EXPECT_THAT(said, HasSubstr("others had 40% of the processors"));
}

TEST_F(Undisturbed, GivesTheLeastDisturbedOfThreeAndNotTheFastest) {
  const WatchedRun best = of({run(0.4, 1), run(0.2, 3), run(0.3, 2)}, 0.1);
  EXPECT_EQ(best.results.front().iteration_s, 3);
  EXPECT_EQ(best.share_of_others, 0.2);
  EXPECT_EQ(trained, 3u);
}

TEST_F(Undisturbed, GivesAFailureAsItIsUnlessARunBeforeWasDone) {
  EXPECT_EQ(of({run(0.4, 0, "failed")}, 0.1).results.front().status, "failed");
  EXPECT_EQ(of({run(0.4, 1), run(0.5, 0, "hung")}, 0.1).results.front().iteration_s, 1);
  EXPECT_EQ(trained, 2u);
  EXPECT_THAT(said, HasSubstr("hung: the run before counts"));
}

TEST_F(Undisturbed, TakesTheFailureOfAnyScheduleThatTookTurns) {
  WatchedRun two = run(0.1, 1);
  two.results.push_back(run(0.1, 0, "crashed").results.front());
  EXPECT_EQ(status_of(two.results), "crashed");
  EXPECT_EQ(status_of(run(0.1, 1).results), "done");
}

TEST_F(Undisturbed, WatchesTheProcessors) {
  const WatchedRun once = train_undisturbed([&] { return ++trained, run(0, 5).results; }, 1, {});
  EXPECT_EQ(trained, 1u);
  EXPECT_EQ(once.results.front().iteration_s, 5);
}

}  // namespace
}  // namespace tuner::undisturbed_test
