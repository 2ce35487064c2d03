#include "moe/communicator/mpirun.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "moe/stop.h"

namespace moe {
namespace {

constexpr int kPoll_ms = 100;

/// In a process group of its own: what a terminal sends goes to this process alone.
[[noreturn]] void become(std::vector<char*>& argv, pid_t parent, int out) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  execvp(argv[0], argv.data());
  std::perror(argv[0]);
  _exit(127);
}

/// What mpirun prints, on its way to our stdout. mpirun itself would die of a reader that goes away,
/// and take its ranks along before they can end in order.
class Relay {
 public:
  explicit Relay(int from) : from_(from) {}

  /// What to wait for: of mpirun's end of the pipe while nothing is held, of stdout otherwise.
  pollfd source() const { return {held_ == 0 && open_ ? from_ : -1, POLLIN, 0}; }
  pollfd target() const {
    return {gone_ ? -1 : STDOUT_FILENO, static_cast<short>(held_ > 0 ? POLLOUT : 0), 0};
  }

  /// Takes what there is, and hands on as much as stdout takes without waiting.
  void carry(short source_events, short target_events) {
    if (source_events != 0) {
      const ssize_t count = read(from_, buffer_.data(), buffer_.size());
      if (count > 0) held_ = static_cast<std::size_t>(count), sent_ = 0;
      open_ = count > 0 || (count < 0 && errno == EINTR);
    }
    gone_ = gone_ || (target_events & POLLERR) != 0;
    if (gone_) held_ = 0;
    if (held_ == 0 || (target_events & POLLOUT) == 0) return;
    const ssize_t count = write(STDOUT_FILENO, buffer_.data() + sent_, held_);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) return;
      gone_ = true;
      if (errno != EPIPE) error_ = errno;
      return;
    }
    sent_ += static_cast<std::size_t>(count);
    held_ -= static_cast<std::size_t>(count);
  }

  bool gone() const { return gone_; }   ///< nothing can be handed on any more
  int error() const { return error_; }  ///< why, as errno; 0 where the reader went away
  bool is_empty() const { return held_ == 0; }

 private:
  int from_;
  std::array<char, PIPE_BUF> buffer_{};
  std::size_t held_ = 0, sent_ = 0;
  bool open_ = true, gone_ = false;
  int error_ = 0;
};

}  // namespace

void run_mpirun(const std::vector<std::string>& command,
                const std::function<void(int code)>& ended_with) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  stop_when_asked();
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(argv, parent, out[1]);
  setpgid(child, child);  // also here: whoever comes first
  close(out[1]);

  Relay relay(out[0]);
  int asked = 0, status = 0;
  // Once mpirun has ended, until a look finds nothing more: whoever else holds its end of the pipe is
  // not waited for.
  for (bool ended = false, silent = false; !ended || !silent || !relay.is_empty();) {
    std::array<pollfd, 2> files{relay.source(), relay.target()};
    poll(files.data(), files.size(), kPoll_ms);
    silent = ended && (files[0].revents & POLLIN) == 0;
    relay.carry(files[0].revents, files[1].revents);
    ended = ended || waitpid(child, &status, WNOHANG) == child;
    if (ended || asked != 0 || (stop_signal() == 0 && !relay.gone())) continue;
    asked = stop_signal() != 0 ? stop_signal() : SIGPIPE;
    kill(child, SIGUSR1);
  }
  if (relay.error() != 0) {
    spdlog::error("stdout: {}", std::strerror(relay.error()));
    _exit(1);
  }
  const int code = asked != 0            ? 128 + asked
                   : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                         : WEXITSTATUS(status);
  if (ended_with) ended_with(code);
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace moe
