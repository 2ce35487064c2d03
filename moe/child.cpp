#include "moe/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

#include "moe/memory_text.h"
#include "moe/orphans.h"
#include "moe/stop.h"

namespace moe {
namespace {

constexpr int kPoll_ms = 100;
/// So much may wait for a file; what the child prints beyond it is not heard meanwhile.
constexpr std::size_t kMostHeld = std::size_t{1} << 20;
constexpr std::size_t kKeptErrors = 64 << 10;
constexpr double kChildGrace_s = 5;  ///< between SIGTERM and SIGKILL

using ChildClock = std::chrono::steady_clock;
double seconds_since(ChildClock::time_point time) {
  return std::chrono::duration<double>(ChildClock::now() - time).count();
}

[[noreturn]] void fail_to_start(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start("pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  int give_read() { return std::exchange(ends[0], -1); }
};

[[noreturn]] void become(std::vector<char*>& argv, pid_t parent, int in, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvp(argv[0], argv.data());
  const std::string message =
      fmt::format("{}: cannot be executed: {}\n", argv[0], std::strerror(errno));
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(127);
}

/// Adds a piece to a text of which the end is kept.
void add_to_end(std::string& text, std::string_view piece) {
  text += piece;
  if (text.size() > 2 * kKeptErrors) text.erase(0, text.size() - kKeptErrors);
}

}  // namespace

/// What to wait for: of the child's end of the pipe, and of the file where something is held.
pollfd ChildOutput::source(int from) const {
  return {held_.size() < kMostHeld && open_ ? from : -1, POLLIN, 0};
}
pollfd ChildOutput::target() const {
  return {gone_ ? -1 : to_, static_cast<short>(held_.empty() ? 0 : POLLOUT), 0};
}

/// Whether nothing more is there to be read, after a wait for source().
bool ChildOutput::is_drained(const pollfd& source) const {
  return !open_ || (source.fd >= 0 && (source.revents & POLLIN) == 0);
}

void ChildOutput::take(int from) {
  std::array<char, PIPE_BUF> buffer{};
  const ssize_t count = read(from, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  open_ = count > 0;
  held_ += hear_({buffer.data(), static_cast<std::size_t>(open_ ? count : 0)});
}

/// Reads a piece, and writes one that the file takes without waiting.
void ChildOutput::carry(int from, short source_events, short target_events) {
  if (source_events != 0) take(from);
  gone_ = gone_ || (target_events & POLLERR) != 0;
  if (gone_) held_.clear();
  if (held_.empty() || (target_events & POLLOUT) == 0) return;
  const ssize_t count = write(to_, held_.data(), std::min<std::size_t>(held_.size(), PIPE_BUF));
  if (count >= 0) {
    held_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EINTR && errno != EAGAIN) {
    gone_ = true;
    if (errno != EPIPE) error_ = errno;
  }
}

Child::Child(const std::vector<std::string>& argv, std::string_view input,
             std::filesystem::path program)
    : program_(std::move(program)) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const MemoryText in(input);
  Pipe out, err;
  const pid_t parent = getpid();
  adopt_orphans();
  others_ = child_processes();
  pid_ = fork();
  if (pid_ < 0) fail_to_start("fork");
  if (pid_ == 0) become(arguments, parent, in.file(), out.ends[1], err.ends[1]);
  setpgid(pid_, pid_);  // also here: whoever comes first
  out_ = out.give_read();
  err_ = err.give_read();
}

Child::~Child() {
  close(out_);
  close(err_);
  if (ended_) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  end_orphans(others_, program_);
}

void Child::watch(ChildOutput& out, ChildOutput& err, const std::function<void()>& look) {
  // After it has ended, until a look finds nothing more. Others that hold its end of a pipe are not
  // waited for.
  for (bool silent = false; !ended_ || !silent || !out.held_.empty() || !err.held_.empty();) {
    std::array<pollfd, 4> files{out.source(out_), out.target(), err.source(err_), err.target()};
    poll(files.data(), files.size(), kPoll_ms);
    silent = ended_ && out.is_drained(files[0]) && err.is_drained(files[2]);
    out.carry(out_, files[0].revents, files[1].revents);
    err.carry(err_, files[2].revents, files[3].revents);
    if (ended_) continue;
    ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    if (!ended_) look();
    const bool is_late = terminated_at_ && seconds_since(*terminated_at_) > grace_s_;
    const bool leaves_group = ended_ && (terminated_at_ || program_.empty());
    if (is_late || leaves_group) kill(-pid_, SIGKILL);
  }
  end_orphans(others_, program_);
}

void Child::signal(int signal) const {
  kill(pid_, signal);
  kill(pid_, SIGCONT);
}

void Child::terminate(double grace_s, bool group) {
  if (terminated_at_) return;
  terminated_at_ = ChildClock::now();
  grace_s_ = grace_s;
  if (group) kill(-pid_, SIGTERM);
  if (!group) signal(SIGTERM);
}

ChildResult run_child(const std::vector<std::string>& argv, double time_limit_s,
                      const std::function<void()>& alive, std::string_view input) {
  ChildResult result;
  ChildOutput out([&](std::string_view piece) { return result.output += piece, ""; });
  ChildOutput err([&](std::string_view piece) { return add_to_end(result.errors, piece), ""; });
  Child child(argv, input);
  const auto begin = ChildClock::now();
  auto called = begin;
  bool stopped = false;
  child.watch(out, err, [&] {
    if (alive && seconds_since(called) > 1) {
      alive();
      called = ChildClock::now();
    }
    stopped = stopped || stop_signal() != 0;
    if (stopped || seconds_since(begin) > time_limit_s) child.terminate(kChildGrace_s, true);
  });
  // Who asks this process to end often asks the child too, which may end before this one looks.
  if (stopped || (child.status() != 0 && stop_signal() != 0)) {
    throw Stopped(stop_reason(stop_signal()), stop_signal());
  }
  result.seconds = seconds_since(begin);
  if (child.was_terminated()) {
    result.end = ChildResult::End::timed_out;
  } else if (WIFSIGNALED(child.status())) {
    result.end = ChildResult::End::signalled;
    result.code = WTERMSIG(child.status());
  } else {
    result.code = WEXITSTATUS(child.status());
  }
  return result;
}

}  // namespace moe
