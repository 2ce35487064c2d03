#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "db/check.h"
#include "db/connection.h"
#include "db/load.h"
#include "db/query.h"
#include "db/transaction.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::several_processes_test {
namespace {

/// Processes at once, each of which carries out its turn; expects all of them to come through.
void in_processes(int count, const std::function<void(int turn)>& work) {
  std::vector<pid_t> children;
  for (int turn = 0; turn < count; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        work(turn);
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(SeveralProcesses, ReadersNeitherBlockAWriterNorAreBlocked) {
  const TemporaryDirectory directory;
  auto writer = open_writer(directory.file("a.db"), {.busy_timeout_s = 0});
  const auto machine = find_or_insert(writer, sample_machine());
  insert(writer, sample_run(machine));
  insert(writer, sample_run(machine));
  const auto reader = open_reader(directory.file("a.db"), {.busy_timeout_s = 0});

  Query half_read(reader, "SELECT id FROM run");
  ASSERT_TRUE(half_read.next());
  Transaction transaction(writer);
  insert(writer, sample_run(machine));
  EXPECT_EQ(load_runs(open_reader(directory.file("a.db"), {.busy_timeout_s = 0})).size(), 2U);
  transaction.commit();
  EXPECT_TRUE(half_read.next());
  EXPECT_FALSE(half_read.next());  // still the state in which it began
  EXPECT_EQ(load_runs(reader).size(), 3U);
}

TEST(SeveralProcesses, ReaderInAWritingProcessKeepsItsLocks) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  auto writer = open_writer(path);
  store_sample(writer);
  { const auto reader = open_reader(path); }  // closing a file of its own would drop the locks
  // Without them another process would take itself for the last one and delete the log under the
  // writer.
  in_processes(1, [&](int) {
    auto other = open_writer(path);
    heartbeat_run(other, 1);
  });
  EXPECT_TRUE(std::filesystem::exists(path + "-wal"));
  EXPECT_NO_THROW(heartbeat_run(writer, 1));
  EXPECT_TRUE(find_problems(writer, 60).empty());
}

TEST(SeveralProcesses, MayCreateTheSameFileAtOnce) {
  const TemporaryDirectory directory;
  in_processes(4, [&](int) {
    auto connection = open_writer(directory.file("a.db"));
    insert(connection, sample_run(find_or_insert(connection, sample_machine())));
  });
  EXPECT_EQ(load_runs(open_reader(directory.file("a.db"))).size(), 4U);
}

// Every close of the last connection folds the log into the file and deletes it: openings must not
// trip over that.
TEST(SeveralProcesses, OpenWriteReadAndCloseAtAnyMoment) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  constexpr int rounds = 20;
  in_processes(4, [&](int process) {
    for (int i = 0; i < rounds; ++i) {
      if (process % 2 == 0) {
        auto connection = open_writer(path);
        std::vector<Load> loads;
        for (int j = 0; j < 500; ++j) loads.push_back({1, 100 + i, process, 0, j, 1});
        insert(connection, loads);
      } else {
        load_loads(open_reader(path), {.run_id = 1});
      }
    }
  });
  const auto connection = open_reader(path);
  EXPECT_EQ(load_loads(connection, {.run_id = 1, .first_iteration = 100}).size(),
            2U * rounds * 500);
  EXPECT_TRUE(find_problems(connection, 60).empty());
}

TEST(SeveralProcesses, KilledWriterLosesNothingItWasToldIsStored) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  for (int round = 0; round < 5; ++round) {
    int stored[2];
    ASSERT_EQ(pipe(stored), 0);
    const int first = load_iterations(open_reader(path), 1).back().iteration + 1;
    const pid_t child = fork();
    if (child == 0) {
      auto connection = open_writer(path);
      for (int i = 0;; ++i) {
        Iteration iteration;
        iteration.run_id = 1;
        iteration.iteration = first + i;
        insert(connection, std::span<const Iteration>(&iteration, 1));
        if (write(stored[1], &iteration.iteration, sizeof(int)) < 0) _exit(1);
      }
    }
    close(stored[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 13 * round));
    kill(child, SIGKILL);
    int last = 0;
    while (read(stored[0], &last, sizeof(int)) == sizeof(int)) {
    }
    close(stored[0]);
    waitpid(child, nullptr, 0);
    const auto connection = open_reader(path);
    EXPECT_TRUE(find_problems(connection, 60).empty());
    const auto iterations = load_iterations(connection, 1);
    EXPECT_GE(iterations.back().iteration, last);
  }
}

}  // namespace
}  // namespace db::several_processes_test
