#include "moe/communicator/run_job.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "moe/communicator/mpi_job.h"

namespace moe::run_job_test {
namespace {

// `false` stands where the program would be: it would call itself again.
TEST(RunJob, AProcessOfALauncherThatStartsNoRanksIsRefusedAndStartsNothing) {
  if (inside_mpi_job()) GTEST_SKIP() << "this test runs inside an MPI job";
  constexpr int kHasRead = 90;
  for (const int ranks : {1, 2}) {
    std::fflush(nullptr);  // or the child would print what this process has not printed yet
    const pid_t child = fork();
    if (child == 0) {
      spdlog::set_level(spdlog::level::off);
      if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(100);
      setenv("OMPI_MOELAB_LAUNCHER", "\x1emoelab: ranks of launcher 1", 1);
      std::string program = "false";
      char* argv[] = {program.data(), nullptr};
      JobInputs inputs;
      inputs.read = []() -> std::string { _exit(kHasRead); };
      inputs.take = [](const std::string&, int) { return std::vector<InputFact>(); };
      _exit(run_job({.ranks = ranks, .launcher = {.command = "env A=1"}}, argv, inputs,
                    [](Communicator&) { return 0; }));
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2) << ranks;
  }
}

}  // namespace
}  // namespace moe::run_job_test
