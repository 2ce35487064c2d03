#include "moe/communicator/mpirun.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "db/console/exit_codes.h"
#include "moe/child.h"
#include "moe/communicator/launcher_words.h"
#include "moe/communicator/mpirun_files.h"
#include "moe/errors.h"
#include "moe/outcome.h"
#include "moe/stop.h"

namespace moe {
namespace {

/// Between SIGTERM and SIGKILL.
constexpr double kGrace_s = 3;
constexpr std::size_t kFirstBytes = 400;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

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
  Launch(Child& mpirun, std::string name, LauncherWords& words, double time_limit_s,
         double silence_limit_s)
      : mpirun_(mpirun),
        name_(std::move(name)),
        words_(words),
        time_limit_s_(time_limit_s),
        silence_limit_s_(silence_limit_s),
        stopped_(mpirun.pid()) {}

  /// From time to time while it runs.
  void look(const ChildOutput& out) {
    if (!marked_ && words_.is_told()) marked_ = mark_mpirun_files(mpirun_.pid());
    if (asked_ == 0 && (stop_signal() != 0 || out.gone())) ask();
    if (!mpirun_.was_terminated() && is_to_end()) mpirun_.terminate(kGrace_s);
  }

  int asked() const { return asked_; }  ///< the signal that asked for the end, 0 while none has
  const std::string& hangs() const { return hangs_; }  ///< why it was ended unasked, or empty
  bool is_silent() const { return silent_; }           ///< whether that is because no rank ran

 private:
  void ask() {
    asked_ = stop_signal() != 0 ? stop_signal() : SIGPIPE;
    asked_at_ = Clock::now();
    mpirun_.signal(SIGUSR1);
  }

  bool is_to_end() {
    const double stopped_s = stopped_.seconds();
    if (asked_ != 0) return !words_.is_told() || are_silent();
    if (!words_.is_told() && seconds_since(begin_) > silence_limit_s_) {
      hangs_ = fmt::format(
          "{} (process {}) has started no rank within {} s: does it start `hostname`? A larger "
          "--time-limit gives it longer",
          name_, mpirun_.pid(), silence_limit_s_);
      silent_ = true;
    } else if (stopped_s > time_limit_s_) {
      hangs_ = fmt::format("{} (process {}) has been stopped for {} s", name_, mpirun_.pid(),
                           time_limit_s_);
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

  Child& mpirun_;
  std::string name_;
  LauncherWords& words_;
  double time_limit_s_, silence_limit_s_;
  std::optional<LauncherWords::Note> last_note_;
  Clock::time_point worked_at_;  ///< when it came
  bool said_ = false;            ///< whether somebody heard who is waited for
  StoppedSince stopped_;
  Clock::time_point begin_ = Clock::now(), asked_at_;
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
  stop_when_asked();
  remove_abandoned_mpirun_files();
  LauncherWords words;
  std::error_code ignored;
  Child mpirun(command, input, std::filesystem::read_symlink("/proc/self/exe", ignored));
  Launch launch(mpirun, name, words, time_limit_s, time_limit_s + launch_s);
  ChildOutput out(
      [&](std::string_view piece) { return piece.empty() ? words.rest() : words.keep(piece); },
      STDOUT_FILENO);
  std::string first;  // of what it prints on stderr
  const auto hear = [&](std::string_view piece) {
    first += piece.substr(0, kFirstBytes - first.size());
    return std::string(piece);
  };
  ChildOutput err(hear, STDERR_FILENO);
  mpirun.watch(out, err, [&] { launch.look(out); });
  remove_mpirun_files(mpirun.pid());
  if (out.error() != 0) {
    spdlog::error("stdout: {}", std::strerror(out.error()));
    _exit(1);
  }
  if (launch.is_silent()) throw NotStarted(launch.hangs());
  if (!launch.hangs().empty()) throw CommunicationError(launch.hangs());
  const int status = mpirun.status();
  const int code = launch.asked() != 0   ? 128 + launch.asked()
                   : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                         : WEXITSTATUS(status);
  if (launch.asked() == 0 && !words.is_told() && !ends_without_a_word(code)) {
    const std::string said = first_words(first);
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
