#include "db/liveness.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "db/load.h"
#include "tests/db/sample.h"

namespace db::liveness_test {
namespace {

/// A process that waits until it is told to end; its command line is this one's.
class Child {
 public:
  Child() : pid(fork()) {
    if (pid != 0) return;
    pause();
    _exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  void end() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
};

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> argv;
  for (std::string word; std::getline(file, word, '\0');) argv.push_back(word);
  return nlohmann::json(argv).dump();
}

class Liveness : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  std::int64_t here = find_or_insert(connection, sample_machine());
  Child child;

  db::Run run_of(std::int64_t pid) const {
    db::Run run = sample_run(here);
    run.pid = pid;
    run.argv_json = own_command_line();
    return run;
  }
  std::string status(std::int64_t id) const { return load_run(connection, id).status; }
};

TEST_F(Liveness, AProcessLivesUntilItEnds) {
  const db::Run run = run_of(child.pid);
  EXPECT_TRUE(still_runs(run));
  child.end();
  EXPECT_FALSE(still_runs(run));
  EXPECT_FALSE(still_runs(run_of(0)));
}

TEST_F(Liveness, AnotherCommandLineUnderTheSameIdIsAnotherProcess) {
  db::Run run = run_of(child.pid);
  run.argv_json = R"(["moe-tune","study"])";
  EXPECT_FALSE(still_runs(run));
}

TEST_F(Liveness, BuriesRunsOfThisComputerWhoseProcessIsGone) {
  const auto alive = insert(connection, run_of(child.pid));
  Child second;
  const auto dead = insert(connection, run_of(second.pid));
  second.end();
  const auto own = insert(connection, run_of(getpid()));
  Machine other = sample_machine("other");
  other.hostname = "node1";
  db::Run remote = run_of(0);
  remote.machine_id = find_or_insert(connection, other);
  const auto elsewhere = insert(connection, remote);

  EXPECT_EQ(bury_runs(connection, "a study", "node0"), 1);
  EXPECT_EQ(status(dead), "killed");
  EXPECT_EQ(status(alive), "running");
  EXPECT_EQ(status(own), "running");
  EXPECT_EQ(status(elsewhere), "running");
  EXPECT_EQ(bury_runs(connection, "a study", "node0"), 0);
}

TEST_F(Liveness, BuriesEarlierRunsOfTheStudyWhereverTheyRan) {
  db::Run earlier = run_of(child.pid);
  earlier.kind = "study";
  earlier.name = "a study";
  const auto id = insert(connection, earlier);
  earlier.name = "another";
  const auto other = insert(connection, earlier);
  EXPECT_EQ(bury_runs(connection, "a study", "node0"), 1);
  EXPECT_EQ(status(id), "killed");
  EXPECT_EQ(status(other), "running");
}

TEST_F(Liveness, FindsTheProcessOfAStudy) {
  db::Run study = run_of(child.pid);
  study.kind = "study";
  study.name = "a study";
  insert(connection, study);
  const auto owners = owners_of_study(connection, "a study", "node0");
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(owners[0].pid, child.pid);
  EXPECT_EQ(owners[0].hostname, "node0");
  EXPECT_TRUE(owners[0].is_here);
  EXPECT_TRUE(owners_of_study(connection, "another", "node0").empty());
  child.end();
  EXPECT_TRUE(owners_of_study(connection, "a study", "node0").empty());
}

TEST_F(Liveness, AProcessOfAnotherComputerMayRunTheStudyEvenUnderOurId) {
  db::Run study = run_of(getpid());
  study.kind = "study";
  study.name = "a study";
  const std::int64_t id = insert(connection, study);
  EXPECT_TRUE(owners_of_study(connection, "a study", "node0").empty()) << "this process itself";
  const auto elsewhere = owners_of_study(connection, "a study", "node1");
  ASSERT_EQ(elsewhere.size(), 1U);
  EXPECT_FALSE(elsewhere[0].is_here);
  EXPECT_EQ(elsewhere[0].run_id, id);
  EXPECT_EQ(elsewhere[0].hostname, "node0");
  EXPECT_EQ(bury_runs(connection, "a study", "node1"), 1) << "it was taken over";
}

TEST_F(Liveness, FindsWhoTookAStudyOver) {
  db::Run study = run_of(child.pid);
  study.kind = "study";
  study.name = "a study";
  const std::int64_t first = insert(connection, study);
  EXPECT_EQ(later_owner_of_study(connection, "a study", first), std::nullopt);
  study.name = "another";
  insert(connection, study);
  EXPECT_EQ(later_owner_of_study(connection, "a study", first), std::nullopt);
  study.name = "a study";
  study.pid = 77;
  insert(connection, study);
  EXPECT_EQ(later_owner_of_study(connection, "a study", first)->pid, 77);
}

}  // namespace
}  // namespace db::liveness_test
