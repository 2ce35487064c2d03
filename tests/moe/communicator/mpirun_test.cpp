#include "moe/communicator/mpirun.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "moe/errors.h"

namespace moe::mpirun_test {
namespace {

/// A shell script in mpirun's place.
struct Job {
  pid_t pid = -1;
  int output = -1;

  static constexpr double kLimit_s = 20, kLaunch_s = 20;
  static constexpr int kNotStarted = 98;

  explicit Job(const std::string& script, double time_limit_s = kLimit_s,
               double launch_s = kLaunch_s, const std::string& input = "") {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    std::fflush(nullptr);  // or the child would print what this process has not printed yet
    pid = fork();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(100);
      spdlog::set_level(spdlog::level::off);
      try {
        run_mpirun({"/bin/sh", "-c", script}, time_limit_s, {}, launch_s, input);
      } catch (const NotStarted&) {
        _exit(kNotStarted);
      } catch (const CommunicationError&) {
        _exit(99);
      }
    }
    close(ends[1]);
    output = ends[0];
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { close_output(); }

  void close_output() {
    if (output >= 0) close(output);
    output = -1;
  }
  /// Blocks until the script has printed so much.
  std::string read_line() const {
    std::string line;
    for (char c = 0; read(output, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  int exit_code() const {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

/// As rank 0 does when it runs.
const std::string kTells = "echo \"$OMPI_MOELAB_LAUNCHER\"; ";

TEST(Mpirun, EndsAsItEnds) {
  for (const int code : {0, 1, 2, 3, 7, 124}) {
    EXPECT_EQ(Job(kTells + fmt::format("exit {}", code)).exit_code(), code);
  }
  EXPECT_EQ(Job("kill -KILL $$").exit_code(), 137);
}

TEST(Mpirun, ItsOwnCodesForALostHostAreAFailure) {
  for (const char* code : {"205", "213", "255"}) {
    EXPECT_EQ(Job(kTells + "exit " + code).exit_code(), 1) << code;
  }
}

TEST(Mpirun, ThatEndsBeforeARankRunsHasNotStarted) {
  for (const char* code : {"0", "1", "2", "7", "127", "205", "213", "255"}) {
    EXPECT_EQ(Job(std::string("echo refused >&2; exit ") + code).exit_code(), Job::kNotStarted)
        << code;
  }
  // These are answers of ranks that had no time for a word.
  EXPECT_EQ(Job("exit 3").exit_code(), 3);
  EXPECT_EQ(Job("exit 124").exit_code(), 124);
}

TEST(Mpirun, ThatHasNotStartedIsToldWithItsFirstWords) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    try {
      run_mpirun({"/bin/sh", "-c",
                  "echo ssh: refused >&2; echo '-----' >&2; echo '  Check it.' >&2; seq 1000 >&2; "
                  "exit 255"},
                 Job::kLimit_s, {}, Job::kLaunch_s, "", "srun -n 2");
    } catch (const NotStarted& error) {
      const std::string said = error.what();
      _exit(said.starts_with("srun -n 2 has started no rank and ended with 255: ssh: refused Check "
                             "it. 1 2 3") &&
                    said.size() < 500
                ? 0
                : 2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Mpirun, WhatItPrintsOnStderrIsHandedOn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    run_mpirun({"/bin/sh", "-c", kTells + "echo to stderr >&2"}, Job::kLimit_s);
  }
  close(ends[1]);
  std::string text;
  for (char c = 0; read(ends[0], &c, 1) == 1;) text += c;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(text, "to stderr\n");
}

/// A script that prints so many bytes while nobody reads them, and then does what `last` says.
class Printed {
 public:
  Printed(std::size_t bytes, const std::string& last)
      : folder_(std::filesystem::path(testing::TempDir()) / "mpirun_printed") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    job_.emplace(fmt::format("cd '{}'; {}head -c {} /dev/zero; echo $$ > now; mv now script; {}",
                             folder_.string(), kTells, bytes, last));
    EXPECT_TRUE(comes([&] { return std::filesystem::exists(folder_ / "script"); }));
    std::ifstream(folder_ / "script") >> script_;
  }

  std::size_t read_at_most(std::size_t bytes) const {
    std::string text(bytes, ' ');
    std::size_t count = 0;
    for (ssize_t got = 1; got > 0 && count < bytes; count += static_cast<std::size_t>(got)) {
      got = std::max<ssize_t>(read(job_->output, text.data(), bytes - count), 0);
    }
    return count;
  }
  void let_it_end() const { std::ofstream(folder_ / "end") << ""; }
  bool is_waited_for() const {
    return comes([&] { return kill(script_, 0) != 0; });
  }
  int exit_code() const { return job_->exit_code(); }

 private:
  /// Whether it comes within 20 s.
  static bool comes(const std::function<bool()>& is_there) {
    for (int i = 0; i < 2000; ++i, usleep(10'000)) {
      if (is_there()) return true;
    }
    return false;
  }

  std::filesystem::path folder_;
  std::optional<Job> job_;
  pid_t script_ = 0;
};

// More than the launcher holds, so that some is in the pipe of the script when that has ended.
TEST(Mpirun, WhatIsPrintedForASlowReaderIsHandedOnToTheEnd) {
  constexpr std::size_t bytes = (1 << 20) + (96 << 10);
  const Printed printed(bytes, "");
  EXPECT_TRUE(printed.is_waited_for());
  EXPECT_EQ(printed.read_at_most(2 * bytes), bytes);
  EXPECT_EQ(printed.exit_code(), 0);
}

TEST(Mpirun, AReaderThatReadsALittleDoesNotMakeItsLauncherStandStill) {
  constexpr std::size_t bytes = 500'000, little = 16'000;
  const Printed printed(bytes, "while ! test -e end; do sleep 0.05; done");
  EXPECT_EQ(printed.read_at_most(little), little);
  printed.let_it_end();
  EXPECT_TRUE(printed.is_waited_for());
  EXPECT_EQ(printed.read_at_most(2 * bytes), bytes - little);
  EXPECT_EQ(printed.exit_code(), 0);
}

// As mpirun does, which hands SIGUSR1 on to its ranks.
const std::string kWaits = kTells +
                           "trap 'echo handed on; exit 1' USR1; echo ready; "
                           "while :; do sleep 0.05; done";

TEST(Mpirun, EverySignalReachesTheRanksAndIsTheExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Job job(kWaits);
    EXPECT_EQ(job.read_line(), "ready");
    kill(job.pid, signal);
    EXPECT_EQ(job.read_line(), "handed on");
    EXPECT_EQ(job.exit_code(), 128 + signal);
  }
}

TEST(Mpirun, AClosedStdoutAsksTheRanksToEnd) {
  Job job(kWaits);
  EXPECT_EQ(job.read_line(), "ready");
  job.close_output();
  EXPECT_EQ(job.exit_code(), 128 + SIGPIPE);
}

TEST(Mpirun, InputIsItsStdinToTheEnd) {
  const std::string long_one(1 << 20, 'x');
  const Job job(kTells + "wc -c; wc -c", Job::kLimit_s, Job::kLaunch_s, long_one);
  EXPECT_EQ(job.read_line(), "1048576");
  EXPECT_EQ(job.read_line(), "0");
  EXPECT_EQ(job.exit_code(), 0);
}

// What `moe-train` does first as rank 0, and what is printed afterwards.
TEST(Mpirun, TheLineThatTellsOfRanksIsNotHandedOn) {
  const Job job("echo first; echo \"$OMPI_MOELAB_LAUNCHER\"; echo second; printf third");
  EXPECT_EQ(job.read_line(), "first");
  EXPECT_EQ(job.read_line(), "second");
  EXPECT_EQ(job.exit_code(), 0);
  EXPECT_EQ(job.read_line(), "third");
}

// It sleeps in a process of its own, so that the shell answers no signal before the sleep ends.
const std::string kHangs = "trap '' USR1 TERM; sleep 100 & wait; sleep 100";

TEST(Mpirun, ThatStartsNoRankIsEndedAtItsLimit) {
  EXPECT_EQ(Job(kHangs, 0.1, 0.2).exit_code(), Job::kNotStarted);
  EXPECT_EQ(Job("echo Welcome; " + kHangs, 0.1, 0.2).exit_code(), Job::kNotStarted) << "a banner";
  // One that has started ranks is left alone.
  EXPECT_EQ(Job(kTells + "echo ready; sleep 1", 0.1, 0.2).exit_code(), 0);
}

TEST(Mpirun, ThatHangsIsEndedWhenTheProgramIsAskedToEnd) {
  for (const bool has_begun : {false, true}) {
    Job job((has_begun ? kTells + "echo ready; " : "") + kHangs, 0.2);
    if (has_begun) {
      EXPECT_EQ(job.read_line(), "ready");
    }
    usleep(200'000);  // until the launcher listens
    kill(job.pid, SIGTERM);
    EXPECT_EQ(job.exit_code(), 128 + SIGTERM);
  }
}

TEST(Mpirun, ThatIsStoppedIsEndedAtTheLimitAndContinuedWhenAskedToEnd) {
  EXPECT_EQ(Job(kTells + "echo ready; kill -STOP $$", 0.2).exit_code(), 99);
  Job job(kTells + "trap 'echo handed on; exit 1' USR1; echo ready; kill -STOP $$; sleep 1");
  EXPECT_EQ(job.read_line(), "ready");
  usleep(200'000);
  kill(job.pid, SIGTERM);
  EXPECT_EQ(job.read_line(), "handed on");
  EXPECT_EQ(job.exit_code(), 128 + SIGTERM);
}

// As ranks tell (launcher_words.h), whose files take longer than the limit.
TEST(Mpirun, RanksThatTellOfTheirWorkAreWaitedForBeyondTheLimit) {
  Job job(
      kTells +
          "trap 'for i in 1 2 3 4 5 6 7 8; do echo \"$OMPI_MOELAB_LAUNCHER work 1 writes\"; sleep "
          "0.25; "
          "done; echo written; exit 1' USR1; echo ready; while :; do sleep 0.05; done",
      1);
  EXPECT_EQ(job.read_line(), "ready");
  kill(job.pid, SIGTERM);
  EXPECT_EQ(job.read_line(), "written");
  EXPECT_EQ(job.exit_code(), 128 + SIGTERM);
}

TEST(Mpirun, RanksThatToldOfTheirWorkOnceAreEndedAtTheLimit) {
  Job job(
      kTells +
          "trap 'echo \"$OMPI_MOELAB_LAUNCHER work 1 writes\"; sleep 100 & wait; echo never' USR1; "
          "echo ready; while :; do sleep 0.05; done",
      0.5);
  EXPECT_EQ(job.read_line(), "ready");
  kill(job.pid, SIGTERM);
  EXPECT_EQ(job.read_line(), "");
  EXPECT_EQ(job.exit_code(), 128 + SIGTERM);
}

TEST(Mpirun, ThatCannotBeExecutedHasNotStarted) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    try {
      run_mpirun({"/nonexistent/mpirun"}, Job::kLimit_s);
    } catch (const NotStarted& error) {
      _exit(std::string(error.what()).find("No such file") == std::string::npos ? 1 : 0);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace moe::mpirun_test
