#include "tuner/study/study_trainings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db/store.h"
#include "tests/db/sample.h"
#include "tuner/study/budget.h"

namespace tuner::study_trainings_test {
namespace {

using ::testing::HasSubstr;

JobResult ended(const std::string& status, const std::string& error = "") {
  JobResult result;
  result.status = status;
  result.error = error;
  return result;
}

/// Runs whose ranks tell what others used.
struct StudyTrainingsTest : ::testing::Test {
  std::size_t trained = 0;
  std::string said;
  StudyOptions options = [this] {
    StudyOptions usual;
    usual.most_of_others = 0.1;
    usual.say = [this](const std::string& text) { said += text; };
    return usual;
  }();
  db::Connection connection = db::open_writer(":memory:");
  std::int64_t machine = db::find_or_insert(connection, db::sample_machine());

  /// A run of two nodes that is done.
  JobResult run(double on_node0, double on_node1, double seconds = 1) {
    std::vector<db::RunRank> ranks(2);
    JobResult result = ended("done");
    result.iteration_s = seconds;
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
    return result;
  }
  WatchedRun watched(const std::function<JobResult()>& train_once) {
    trained = 0;
    said.clear();
    return train_undisturbed(connection, options, [&] {
      ++trained;
      return std::vector{train_once()};
    });
  }
  /// One after the other.
  WatchedRun of(const std::vector<JobResult>& runs) {
    return watched([&] { return runs.at(trained - 1); });
  }
};

TEST_F(StudyTrainingsTest, WhatTheBudgetHasNoTimeToRepeatCounts) {
  const JobResult first = run(0.5, 0, 7);
  const WatchedRun best = watched([&] {
    if (trained > 1) throw EndedEarly("the budget ends", false);
    return first;
  });
  EXPECT_EQ(best.results.front().iteration_s, 7);
  EXPECT_THAT(said, HasSubstr("the budget ends: the run before counts"));
  EXPECT_THROW(watched([&]() -> JobResult { throw EndedEarly("the budget ends", false); }),
               EndedEarly)
      << "there is no run before";
}

TEST_F(StudyTrainingsTest, AreOneWhereOthersLeaveTheProcessorsAlone) {
  EXPECT_EQ(of({run(0.1, 0)}).results.front().iteration_s, 1);
  EXPECT_EQ(trained, 1u);
  EXPECT_EQ(said, "");
}

TEST_F(StudyTrainingsTest, GiveTheLeastDisturbedOfThreeAndNotTheFastest) {
  const WatchedRun best = of({run(0.4, 0, 1), run(0.2, 0, 3), run(0.3, 0, 2)});
  EXPECT_EQ(best.results.front().iteration_s, 3);
  EXPECT_EQ(best.share_of_others, 0.2);
  EXPECT_EQ(trained, 3u);
}

TEST_F(StudyTrainingsTest, GiveAFailureAsItIsUnlessARunBeforeWasDone) {
  EXPECT_EQ(of({ended("failed")}).results.front().status, "failed");
  EXPECT_EQ(of({run(0.4, 0), ended("hung")}).results.front().iteration_s, 1);
  EXPECT_EQ(trained, 2u);
  EXPECT_THAT(said, HasSubstr("hung: the run before counts"));
}

TEST_F(StudyTrainingsTest, TakeTheFailureOfAnyScheduleThatTookTurns) {
  EXPECT_EQ(status_of({ended("done"), ended("crashed")}), "crashed");
  EXPECT_EQ(status_of({ended("done")}), "done");
}

TEST_F(StudyTrainingsTest, AreJudgedByTheWorstNode) {
  const WatchedRun best = of({run(0, 0.5), run(0.06, 0.05)});
  EXPECT_EQ(trained, 2u);
  EXPECT_EQ(said, "  others had 50% of the processors of node1: once more");
  EXPECT_EQ(best.share_of_others, 0.06);
  EXPECT_EQ(best.host, "node0");
}

TEST_F(StudyTrainingsTest, ThatWereNotStartedAreTriedTwiceMore) {
  const JobResult refused = ended(db::kNotStarted, "ssh: refused");
  EXPECT_EQ(status_of(of({refused, refused, refused}).results), db::kNotStarted);
  EXPECT_EQ(trained, 3u);
  EXPECT_THAT(said, HasSubstr("not_started: ssh: refused: once more"));
  EXPECT_EQ(status_of(of({refused, refused, run(0, 0)}).results), "done");
  EXPECT_EQ(trained, 3u);
}

TEST_F(StudyTrainingsTest, WhoseNodeWasLostAreTriedTwiceMoreAndStayLost) {
  const JobResult lost = ended(db::kLostNode, "ended with 205");
  const JobResult gone = ended(db::kNotStarted, "no answer");
  const WatchedRun run_of_gone = of({lost, gone, gone});
  EXPECT_EQ(trained, 3u);
  EXPECT_EQ(status_of(run_of_gone.results), db::kLostNode) << "not not_started: it was lost in it";
  EXPECT_THAT(run_of_gone.results.front().error,
              HasSubstr("ended with 205; then not_started: no answer"));
  EXPECT_THAT(said, HasSubstr("lost_node: ended with 205: once more"));
  EXPECT_EQ(status_of(of({lost, run(0, 0)}).results), "done");
}

}  // namespace
}  // namespace tuner::study_trainings_test
