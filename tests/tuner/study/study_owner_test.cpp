#include "tuner/study/study_owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "db/load.h"
#include "db/store.h"
#include "moe/errors.h"
#include "tests/db/sample.h"

namespace tuner::study_owner_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Short, so that tests need not wait.
constexpr OwnerWatch kWatch{0.3, 0.1, 0.01};
/// Long enough for a sign to come on a slow machine.
constexpr OwnerWatch kLongWatch{60, 60, 0.01};

class StudyOwner : public ::testing::Test {
 protected:
  std::string path = std::filesystem::path(::testing::TempDir()) /
                     ("study_owner_test" + std::to_string(getpid()) + ".db");
  std::string said;

  void SetUp() override { remove(); }
  void TearDown() override { remove(); }
  void remove() const {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  }
  static db::Run run_of(db::Connection& connection, const std::string& host) {
    db::Machine machine = db::sample_machine(host);
    machine.hostname = host;
    db::Run run = db::sample_run(db::find_or_insert(connection, machine));
    run.kind = "study";
    run.name = "s";
    run.pid = 77;
    return run;
  }
  /// Of a process that runs the study on a host, and gave its last sign so long ago.
  static std::int64_t begin_on(db::Connection& connection, const std::string& host,
                               double sign_s_ago) {
    db::Run run = run_of(connection, host);
    run.heartbeat_at = db::now() - sign_s_ago;
    return db::insert(connection, run);
  }
  /// Whether node0 may run the study.
  bool claim(db::Connection& connection, const OwnerWatch& watch = kWatch) {
    bool begun = false;
    claim_study(
        connection, "s", "node0", watch, [this](const std::string& text) { said += text; },
        [&] {
          begun = true;
          begin_on(connection, "node0", 0);
        });
    return begun;
  }
};

TEST_F(StudyOwner, AStudyThatNobodyRunsIsClaimedAtOnce) {
  db::Connection connection = db::open_writer(path);
  EXPECT_TRUE(claim(connection));
  EXPECT_EQ(said, "");
}

TEST_F(StudyOwner, AnotherComputerThatGivesASignIsAlive) {
  db::Connection connection = db::open_writer(path);
  // By its clock the last sign is an hour old: the clocks differ.
  const std::int64_t run = begin_on(connection, "node1", 3600);
  std::atomic<bool> ended = false;
  std::jthread heart([&] {
    db::Connection own = db::open_writer(path);
    while (!ended) {
      db::heartbeat_run(own, run);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_THAT([&] { claim(connection, kLongWatch); },
              ThrowsMessage<moe::InputError>(
                  AllOf(HasSubstr("study \"s\" is being run by process 77 on node1, which gave a "
                                  "sign "),
                        HasSubstr(" s ago"))));
  ended = true;
}

TEST_F(StudyOwner, OneThatGivesNoneIsWaitedForAndThenGone) {
  db::Connection connection = db::open_writer(path);
  begin_on(connection, "node1", -3600);  // its clock is an hour ahead
  EXPECT_TRUE(claim(connection));
  EXPECT_THAT(said, HasSubstr("process 77 on node1 has not ended study \"s\""));
}

TEST_F(StudyOwner, OfTwoComputersThatComeAtOneTimeOneIsRefused) {
  { db::open_writer(path); }
  std::atomic<int> begun = 0, refused = 0;
  const auto come = [&](const std::string& host) {
    db::Connection connection = db::open_writer(path);
    std::atomic<std::int64_t> run = 0;
    std::atomic<bool> ended = false;
    std::jthread heart([&] {
      db::Connection own = db::open_writer(path);
      while (!ended) {
        if (run != 0) db::heartbeat_run(own, run);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    try {
      claim_study(
          connection, "s", host, kLongWatch, [](const std::string&) {},
          [&] { run = begin_on(connection, host, 0); });
      ++begun;
      while (refused == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } catch (const moe::InputError&) {
      ++refused;
    }
    ended = true;
  };
  { std::jthread one(come, "node0"), other(come, "node1"); }
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(refused, 1);
}

TEST_F(StudyOwner, WhoWasTakenOverIsTold) {
  db::Connection connection = db::open_writer(path);
  const std::int64_t run = begin_on(connection, "node0", 0);
  EXPECT_NO_THROW(expect_still_owner(connection, "s", run));
  begin_on(connection, "node1", 0);
  EXPECT_THAT([&] { expect_still_owner(connection, "s", run); },
              ThrowsMessage<TakenOver>(HasSubstr("was taken over by process 77 on node1")));
}

}  // namespace
}  // namespace tuner::study_owner_test
