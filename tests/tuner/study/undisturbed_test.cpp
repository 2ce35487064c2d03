#include "tuner/study/undisturbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db/store.h"
#include "tests/db/sample.h"
#include "tuner/study/budget.h"

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

TEST_F(Undisturbed, WhatTheBudgetHasNoTimeToRepeatCounts) {
  const auto train = [&] {
    if (trained++ > 0) throw EndedEarly("the budget ends", false);
    return run(0.5, 7);
  };
  const auto say = [&](const std::string& text) { said += text; };
  EXPECT_EQ(least_disturbed(train, 0.1, say).results.front().iteration_s, 7);
  EXPECT_THAT(said, HasSubstr("the budget ends: the run before counts"));
  EXPECT_THROW(least_disturbed(train, 0.1, say), EndedEarly) << "there is no run before";
}

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

/// Runs whose ranks tell what others used.
struct WatchedRuns : Undisturbed {
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t machine = db::find_or_insert(connection, db::sample_machine());

  std::vector<JobResult> run_with(double on_node0, double on_node1) {
    ++trained;
    std::vector<db::RunRank> ranks(2);
    JobResult result;
    result.status = "done";
    db::Run stored = db::sample_run(machine);
    stored.ranks = 2;
    result.run_id = db::insert(connection, stored);
    for (int rank = 0; rank < 2; ++rank) {
      db::RunRank& one = ranks[static_cast<std::size_t>(rank)];
      one.run_id = result.run_id;
      one.rank = one.node = rank;
      one.hostname = "node" + std::to_string(rank);
      one.share_of_others = rank == 0 ? on_node0 : on_node1;
    }
    db::insert(connection, ranks);
    return {result};
  }
  WatchedRun watched(const std::function<std::vector<JobResult>()>& train) {
    return train_undisturbed(connection, train, 0.1,
                             [this](const std::string& text) { said += text; });
  }
};

TEST_F(WatchedRuns, AreJudgedByTheWorstNode) {
  const WatchedRun best =
      watched([&] { return trained == 0 ? run_with(0, 0.5) : run_with(0.06, 0.05); });
  EXPECT_EQ(trained, 2u);
  EXPECT_EQ(said, "  others had 50% of the processors of node1: once more");
  EXPECT_EQ(best.share_of_others, 0.06);
  EXPECT_EQ(best.host, "node0");
}

TEST_F(WatchedRuns, ThatWereNotStartedAreTriedTwiceMore) {
  const auto refused = [&] {
    ++trained;
    JobResult result;
    result.status = db::kNotStarted;
    result.error = "ssh: refused";
    return std::vector{result};
  };
  EXPECT_EQ(status_of(watched(refused).results), db::kNotStarted);
  EXPECT_EQ(trained, 3u);
  EXPECT_THAT(said, HasSubstr("not_started: ssh: refused: once more"));
  trained = 0;
  EXPECT_EQ(status_of(watched([&] { return trained < 2 ? refused() : run_with(0, 0); }).results),
            "done");
  EXPECT_EQ(trained, 3u);
}

TEST_F(WatchedRuns, WhoseNodeWasLostAreTriedTwiceMoreAndStayLost) {
  const auto lost = [&](bool is_gone) {
    JobResult result;
    result.status = is_gone ? db::kNotStarted : db::kLostNode;
    result.error = is_gone ? "no answer" : "ended with 205";
    return std::vector{result};
  };
  const auto gone = watched([&] { return lost(trained++ > 0); });
  EXPECT_EQ(trained, 3u);
  EXPECT_EQ(status_of(gone.results), db::kLostNode) << "not not_started: it was lost in it";
  EXPECT_THAT(gone.results.front().error, HasSubstr("ended with 205; then not_started: no answer"));
  EXPECT_THAT(said, HasSubstr("lost_node: ended with 205: once more"));
  trained = 0;
  EXPECT_EQ(
      status_of(watched([&] { return trained++ < 1 ? lost(false) : run_with(0, 0); }).results),
      "done");
}

}  // namespace
}  // namespace tuner::undisturbed_test
