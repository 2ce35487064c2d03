#include "moe/communicator/mpirun.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "db/console/exit_codes.h"
#include "moe/communicator/launcher_words.h"
#include "moe/communicator/mpirun_files.h"
#include "moe/errors.h"
#include "moe/memory_text.h"
#include "moe/orphans.h"
#include "moe/outcome.h"
#include "moe/stop.h"

namespace moe {
namespace {

constexpr int kPoll_ms = 100;
/// So much may wait for the reader of stdout; words of ranks that come after it are not heard.
constexpr std::size_t kMostHeld = std::size_t{1} << 20;
/// Between SIGTERM and SIGKILL.
constexpr double kGrace_s = 3;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// In a process group of its own, so that signals of a terminal go to this process alone.
[[noreturn]] void become(std::vector<char*>& argv, pid_t parent, int in, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvp(argv[0], argv.data());
  const std::string message = fmt::format("{}: {}\n", argv[0], std::strerror(errno));
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(127);
}

/// Carries what mpirun prints to our stdout or stderr. mpirun itself would die of a reader that goes
/// away, and take its ranks along before they can end in order.
class Relay {
 public:
  /// `words`: what ranks tell this process on stdout, which is not handed on.
  Relay(int from, int to, LauncherWords* words = nullptr) : from_(from), to_(to), words_(words) {}

  /// What to wait for: of mpirun's end of the pipe, and of stdout where something is held.
  pollfd source() const { return {held_.size() < kMostHeld && open_ ? from_ : -1, POLLIN, 0}; }
  pollfd target() const {
    return {gone_ ? -1 : to_, static_cast<short>(held_.empty() ? 0 : POLLOUT), 0};
  }

  /// Whether nothing more is there to be read, after a wait for source().
  bool is_drained(const pollfd& source) const {
    return !open_ || (source.fd >= 0 && (source.revents & POLLIN) == 0);
  }

  /// Reads a piece, and writes one that stdout takes without waiting.
  void carry(short source_events, short target_events) {
    if (source_events != 0) take();
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

  bool gone() const { return gone_; }   ///< whether nothing can be handed on any more
  int error() const { return error_; }  ///< the errno of that; 0 where the reader went away
  bool is_empty() const { return held_.empty(); }
  const std::string& first() const { return first_; }  ///< the first bytes that were printed

 private:
  void take() {
    std::array<char, PIPE_BUF> buffer{};
    const ssize_t count = read(from_, buffer.data(), buffer.size());
    if (count > 0) {
      const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
      held_ += words_ == nullptr ? std::string(piece) : words_->keep(piece);
      first_ += piece.substr(0, kFirstBytes - first_.size());
    }
    open_ = count > 0 || (count < 0 && errno == EINTR);
    if (!open_ && words_ != nullptr) held_ += words_->rest();
  }

  static constexpr std::size_t kFirstBytes = 400;

  int from_, to_;
  LauncherWords* words_;
  std::string held_, first_;
  bool open_ = true, gone_ = false;
  int error_ = 0;
};

/// Since when a process has been stopped (SIGSTOP, a debugger).
class StoppedSince {
 public:
  explicit StoppedSince(pid_t process) : stat_("/proc/" + std::to_string(process) + "/stat") {}

  double seconds() {
    std::string text;
    std::getline(std::ifstream(stat_), text);
    const std::size_t end = text.rfind(')');  // "pid (name) state ...": the name may hold anything
    const char state = end != std::string::npos && end + 2 < text.size() ? text[end + 2] : '?';
    if (state != 'T' && state != 't') since_ = Clock::now();
    return seconds_since(since_);
  }

 private:
  std::string stat_;
  Clock::time_point since_ = Clock::now();
};

/// An mpirun that runs, and how it is ended.
class Launch {
 public:
  /// `silence_limit_s`: how long it may take until its ranks run.
  Launch(pid_t mpirun, std::string name, LauncherWords& words, double time_limit_s,
         double silence_limit_s)
      : mpirun_(mpirun),
        name_(std::move(name)),
        words_(words),
        time_limit_s_(time_limit_s),
        silence_limit_s_(silence_limit_s),
        stopped_(mpirun) {}

  /// From time to time while it runs.
  void look(const Relay& relay) {
    if (!marked_ && words_.is_told()) marked_ = mark_mpirun_files(mpirun_);
    if (asked_ == 0 && (stop_signal() != 0 || relay.gone())) ask();
    if (terminated_at_) {
      if (seconds_since(*terminated_at_) > kGrace_s) kill(-mpirun_, SIGKILL);
    } else if (is_to_end()) {
      terminated_at_ = Clock::now();
      kill(mpirun_, SIGTERM);
      kill(mpirun_, SIGCONT);
    }
  }

  bool was_ended() const { return terminated_at_.has_value(); }
  int asked() const { return asked_; }  ///< the signal that asked for the end, 0 while none has
  const std::string& hangs() const { return hangs_; }  ///< why it was ended unasked, or empty
  bool is_silent() const { return silent_; }           ///< whether that is because no rank ran

 private:
  void ask() {
    asked_ = stop_signal() != 0 ? stop_signal() : SIGPIPE;
    asked_at_ = Clock::now();
    kill(mpirun_, SIGUSR1);
    kill(mpirun_, SIGCONT);
  }

  bool is_to_end() {
    const double stopped_s = stopped_.seconds();
    if (asked_ != 0) return !words_.is_told() || are_silent();
    if (!words_.is_told() && seconds_since(begin_) > silence_limit_s_) {
      hangs_ = fmt::format(
          "{} (process {}) has started no rank within {} s: does it start `hostname`? A larger "
          "--time-limit gives it longer",
          name_, mpirun_, silence_limit_s_);
      silent_ = true;
    } else if (stopped_s > time_limit_s_) {
      hangs_ =
          fmt::format("{} (process {}) has been stopped for {} s", name_, mpirun_, time_limit_s_);
    }
    return !hangs_.empty();
  }

  /// After they were asked to end: whether no rank has told of its work for the limit.
  bool are_silent() {
    if (auto notes = words_.look(); !notes.empty()) {
      last_note_ = std::move(notes.back());
      worked_at_ = Clock::now();
    }
    const bool over = seconds_since(asked_at_) > time_limit_s_;
    if (!over || (last_note_ && seconds_since(worked_at_) <= time_limit_s_)) {
      if (over && !said_) {
        spdlog::warn("{}: waits for rank {}, which {}; the same signal again ends it at once",
                     stop_reason(asked_), last_note_->rank, last_note_->what);
        said_ = true;
      }
      return false;
    }
    spdlog::error(
        "{}: the ranks did not end within {} s and are killed; what they have not stored is "
        "lost{}; a larger --time-limit gives them longer",
        stop_reason(asked_), time_limit_s_,
        last_note_
            ? fmt::format(", the last word was that rank {} {}", last_note_->rank, last_note_->what)
            : "");
    return true;
  }

  pid_t mpirun_;
  std::string name_;
  LauncherWords& words_;
  double time_limit_s_, silence_limit_s_;
  std::optional<LauncherWords::Note> last_note_;
  Clock::time_point worked_at_;  ///< when it came
  bool said_ = false;            ///< whether somebody heard who is waited for
  StoppedSince stopped_;
  Clock::time_point begin_ = Clock::now(), asked_at_;
  std::optional<Clock::time_point> terminated_at_;
  bool marked_ = false;
  int asked_ = 0;
  std::string hangs_;
  bool silent_ = false;
};

/// What a launcher has printed, as one line without the dashes that mpirun adds. The reason comes
/// first ("ssh: Could not resolve hostname node9"), advice for all reasons after it.
std::string first_words(const std::string& printed) {
  std::string text;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" -\t\r"));
    if (!line.empty()) text += (text.empty() ? "" : " ") + line;
  }
  return text;
}

/// Whether ranks may have ended so before a word of theirs came. Launchers end with other codes where
/// they start nothing: 0, 1, 2, 127, 205, 213, 255.
bool ends_without_a_word(int code) {
  return code == db::kExitOutOfMemory || code == db::kExitTimeLimit || is_exit_code_of_signal(code);
}

}  // namespace

void run_mpirun(const std::vector<std::string>& command, double time_limit_s,
                const EndedRanks& ended_with, double launch_s, const std::string& input,
                const std::string& name) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  stop_when_asked();
  remove_abandoned_mpirun_files();
  std::optional<MemoryText> in(std::in_place, input);
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  const pid_t parent = getpid();
  LauncherWords words;
  adopt_orphans();
  const std::set<pid_t> others = child_processes();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(argv, parent, in->file(), out[1], err[1]);
  setpgid(child, child);  // also here: whoever comes first
  in.reset();
  close(out[1]);
  close(err[1]);

  Relay relay(out[0], STDOUT_FILENO, &words), errors(err[0], STDERR_FILENO);
  Launch launch(child, name, words, time_limit_s, time_limit_s + launch_s);
  int status = 0;
  // After mpirun has ended, until a look finds nothing more. Others that hold its end of the pipe
  // are not waited for.
  for (bool ended = false, silent = false;
       !ended || !silent || !relay.is_empty() || !errors.is_empty();) {
    std::array<pollfd, 4> files{relay.source(), relay.target(), errors.source(), errors.target()};
    poll(files.data(), files.size(), kPoll_ms);
    silent = ended && relay.is_drained(files[0]) && errors.is_drained(files[2]);
    relay.carry(files[0].revents, files[1].revents);
    errors.carry(files[2].revents, files[3].revents);
    ended = ended || waitpid(child, &status, WNOHANG) == child;
    if (!ended) launch.look(relay);
  }
  if (launch.was_ended()) kill(-child, SIGKILL);  // what it has left in its group
  std::error_code ignored;
  end_orphans(others, std::filesystem::read_symlink("/proc/self/exe", ignored));
  remove_mpirun_files(child);
  if (relay.error() != 0) {
    spdlog::error("stdout: {}", std::strerror(relay.error()));
    _exit(1);
  }
  if (launch.is_silent()) throw NotStarted(launch.hangs());
  if (!launch.hangs().empty()) throw CommunicationError(launch.hangs());
  const int code = launch.asked() != 0   ? 128 + launch.asked()
                   : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                         : WEXITSTATUS(status);
  if (launch.asked() == 0 && !words.is_told() && !ends_without_a_word(code)) {
    const std::string said = first_words(errors.first());
    throw NotStarted(
        fmt::format("{} has started no rank{} and ended with {}{}{}", name,
                    code == db::kExitDone ? ", or has not handed the environment on to it," : "",
                    code, said.empty() ? "" : ": ", said));
  }
  if (ended_with) ended_with(code, words.outcomes());
  std::fflush(nullptr);
  if (!is_exit_code_of_launcher(code)) _exit(code);
  spdlog::error("{}", outcome_of_exit(code).message);
  _exit(db::kExitFailed);
}

}  // namespace moe
