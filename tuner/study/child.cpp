#include "tuner/study/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "moe/memory_text.h"
#include "moe/orphans.h"
#include "moe/stop.h"

namespace tuner {
namespace {

constexpr std::size_t kKeptErrors = 64 << 10;
constexpr double kGrace_s = 5;  ///< between SIGTERM and SIGKILL
constexpr int kPoll_ms = 100;

using Clock = std::chrono::steady_clock;
double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    read = ends[0];
    write = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write();
    if (read >= 0) close(read);
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
  /// False at the end of the file.
  bool take(std::string& text) const {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(read, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }
};

[[noreturn]] void become(std::vector<char*>& argv, const moe::MemoryText& in, const Pipe& out,
                         const Pipe& err, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  dup2(out.write, STDOUT_FILENO);
  dup2(err.write, STDERR_FILENO);
  dup2(in.file(), STDIN_FILENO);
  execv(argv[0], argv.data());
  const std::string message = std::string(argv[0]) + ": cannot be executed\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(127);
}

/// Reads what is left in a pipe whose writers have ended.
void drain(const Pipe& pipe, bool open, std::string& text) {
  fcntl(pipe.read, F_SETFL, O_NONBLOCK);
  while (open && pipe.take(text)) {
  }
}

/// How the watch over a child ended.
struct Watched {
  int status = 0;           ///< waitpid()'s
  bool stopped = false;     ///< this process was asked to end
  bool terminated = false;  ///< the child was asked to end
  bool out_open = true, err_open = true;
};

/// Reads what the child writes until it has ended, and ends it where it has to.
Watched watch(pid_t child, const Pipe& out, const Pipe& err, double time_limit_s,
              const std::function<void()>& alive, ChildResult& result) {
  Watched watched;
  const double begin = now_s();
  double called = begin, terminated = 0;
  bool killed = false;
  for (bool ended = false; !ended;) {
    std::array<pollfd, 2> files{{{watched.out_open ? out.read : -1, POLLIN, 0},
                                 {watched.err_open ? err.read : -1, POLLIN, 0}}};
    poll(files.data(), files.size(), kPoll_ms);
    if (files[0].revents != 0) watched.out_open = out.take(result.output);
    if (files[1].revents != 0) watched.err_open = err.take(result.errors);
    if (result.errors.size() > 2 * kKeptErrors) {
      result.errors.erase(0, result.errors.size() - kKeptErrors);
    }
    ended = waitpid(child, &watched.status, WNOHANG) == child;
    const double now = now_s();
    if (alive && now - called > 1) {
      alive();
      called = now;
    }
    watched.stopped = watched.stopped || (!ended && moe::stop_signal() != 0);
    if (!ended && terminated == 0 && (watched.stopped || now - begin > time_limit_s)) {
      kill(-child, SIGTERM);
      terminated = now;
    }
    if (!ended && terminated > 0 && !killed && now - terminated > kGrace_s) {
      kill(-child, SIGKILL);
      killed = true;
    }
  }
  kill(-child, SIGKILL);  // whatever it left in its group
  watched.terminated = terminated > 0;
  return watched;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, double time_limit_s,
                      const std::function<void()>& alive, std::string_view input) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const moe::MemoryText in(input);
  Pipe out, err;
  const pid_t parent = getpid();
  moe::adopt_orphans();
  const std::set<pid_t> others = moe::child_processes();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(arguments, in, out, err, parent);
  setpgid(child, child);  // also here: whoever comes first
  out.close_write();
  err.close_write();

  ChildResult result;
  const double begin = now_s();
  Watched watched;
  try {
    watched = watch(child, out, err, time_limit_s, alive, result);
  } catch (...) {
    kill(-child, SIGKILL);
    waitpid(child, nullptr, 0);
    moe::end_orphans(others);
    throw;
  }
  // mpirun ends before the processes that it has started on the other hosts of a box: they are not
  // to run beside the next training.
  moe::end_orphans(others);
  // Who asks this process to end often asks the child too, which may end before this one looks.
  const bool failed = !WIFEXITED(watched.status) || WEXITSTATUS(watched.status) != 0;
  if (watched.stopped || (failed && moe::stop_signal() != 0)) {
    throw moe::Stopped(moe::stop_reason(moe::stop_signal()), moe::stop_signal());
  }
  drain(out, watched.out_open, result.output);
  drain(err, watched.err_open, result.errors);

  result.seconds = now_s() - begin;
  if (watched.terminated) {
    result.end = ChildResult::End::timed_out;
  } else if (WIFSIGNALED(watched.status)) {
    result.end = ChildResult::End::signalled;
    result.code = WTERMSIG(watched.status);
  } else {
    result.code = WEXITSTATUS(watched.status);
  }
  return result;
}

long out_of_memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (long value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return -1;
}

}  // namespace tuner
