#include "moe/communicator/mpirun.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "moe/stop.h"

namespace moe {
namespace {

constexpr int kPoll_ms = 100;

/// In a process group of its own: what a terminal sends goes to this process alone.
[[noreturn]] void become(std::vector<char*>& argv, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  execvp(argv[0], argv.data());
  std::perror(argv[0]);
  _exit(127);
}

}  // namespace

void run_mpirun(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  stop_when_asked();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(argv, parent);
  setpgid(child, child);  // also here: whoever comes first

  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));  // -1: polled for instead
  int asked = 0, status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::array<pollfd, 2> files{{{ended, POLLIN, 0}, {asked == 0 ? STDOUT_FILENO : -1, 0, 0}}};
    poll(files.data(), files.size(), kPoll_ms);
    const bool closed = (files[1].revents & POLLERR) != 0;
    if (asked != 0 || (stop_signal() == 0 && !closed)) continue;
    asked = stop_signal() != 0 ? stop_signal() : SIGPIPE;
    kill(child, SIGUSR1);
  }
  std::fflush(nullptr);
  if (asked != 0) _exit(128 + asked);
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace moe
