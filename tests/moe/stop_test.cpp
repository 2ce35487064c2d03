#include "moe/stop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "moe/errors.h"

namespace moe::stop_test {
namespace {

/// The wait status of a process that does this.
template <class Body>
int status_of(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(stop_signal());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Stop, EverySignalThatAsksIsRememberedAndDoesNotKill) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1}) {
    const int status = status_of([&] {
      stop_when_asked();
      raise(signal);
    });
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), signal);
  }
}

TEST(Stop, AFurtherOneOfAKindEndsAtOnceASecondLaterExceptOfAClosedPipe) {
  const int terminated = status_of([] {
    stop_when_asked();
    raise(SIGTERM);
    usleep(1'100'000);
    raise(SIGTERM);
  });
  ASSERT_TRUE(WIFSIGNALED(terminated));
  EXPECT_EQ(WTERMSIG(terminated), SIGTERM);
  EXPECT_EQ(WEXITSTATUS(status_of([] {
              stop_when_asked();
              raise(SIGPIPE);
              usleep(1'100'000);
              raise(SIGPIPE);
            })),
            SIGPIPE);
}

/// GNU timeout signals its child, and then its group, of which the child is one.
TEST(Stop, ASignalToTheProcessAndItsGroupIsOneRequest) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const int status = status_of([&] {
      setpgid(0, 0);
      stop_when_asked();
      kill(getpid(), signal);
      kill(0, signal);
      raise(signal);
    });
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), signal);
  }
}

TEST(Stop, AHangupThatIsIgnoredStaysIgnored) {
  const int status = status_of([] {
    std::signal(SIGHUP, SIG_IGN);
    stop_when_asked();
    raise(SIGHUP);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Stop, IsExitCode128AndTheSignal) {
  EXPECT_EQ(exit_code(Stopped("stopped", SIGTERM)), 143);
  EXPECT_EQ(exit_code(Stopped("stopped", SIGHUP)), 129);
}

}  // namespace
}  // namespace moe::stop_test
