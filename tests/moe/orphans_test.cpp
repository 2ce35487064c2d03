#include "moe/orphans.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace moe::orphans_test {
namespace {

/// In a process of its own, which adopts: starts a process that ends and leaves `sleep` behind.
/// Returns how many of these go on after end_orphans.
int orphans_left(bool given_as_others, const std::filesystem::path& program) {
  const pid_t adopter = fork();
  if (adopter == 0) {
    adopt_orphans();
    const pid_t parent = fork();
    if (parent == 0) {
      if (fork() == 0) {
        execl("/bin/sleep", "sleep", "100", nullptr);
        _exit(1);
      }
      usleep(100'000);  // until the line above is done
      _exit(0);
    }
    waitpid(parent, nullptr, 0);
    end_orphans(given_as_others ? child_processes() : std::set<pid_t>{}, program);
    const auto left = child_processes();
    for (const pid_t pid : left) kill(pid, SIGKILL);
    _exit(static_cast<int>(left.size()));
  }
  int status = 0;
  waitpid(adopter, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Orphans, AreKilledUnlessTheyAreOthers) {
  EXPECT_EQ(orphans_left(false, {}), 0);
  EXPECT_EQ(orphans_left(true, {}), 1);
}

TEST(Orphans, OfAnotherProgramGoOn) {
  EXPECT_EQ(orphans_left(false, std::filesystem::canonical("/bin/sleep")), 0);
  EXPECT_EQ(orphans_left(false, "/bin/another"), 1);
}

}  // namespace
}  // namespace moe::orphans_test
