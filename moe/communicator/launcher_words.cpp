#include "moe/communicator/launcher_words.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "moe/communicator/mpi_job.h"

namespace moe {
namespace {

/// Open MPI hands variables that begin so on to the ranks of other hosts.
constexpr const char* kMarkVariable = "OMPI_MOELAB_LAUNCHER";
constexpr std::string_view kOutcome = " outcome ", kWork = " work ";
/// A line that is handed on by mpirun in one piece.
constexpr std::size_t kMostLine = 2048, kMostJson = 1900, kMostMessage = 1024;

/// By what this process marks its words; empty where no launcher has started it.
std::string& own_mark() {
  static std::string mark;
  return mark;
}

/// Prints a line at once, where stdout takes it: a rank must not wait for its launcher.
bool say(std::string_view word) {
  if (own_mark().empty()) return false;
  // Whatever was printed before may have left a line open.
  const std::string line = fmt::format("{}{}\n", own_mark(), word);
  if (line.size() > kMostLine) return false;
  constexpr int kPatience_ms = 1000;
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&out, 1, kPatience_ms) != 1 || (out.revents & (POLLERR | POLLHUP)) != 0) return false;
  return write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

/// The length of the longest end of `text` that `mark` begins with.
std::size_t begun_mark(std::string_view text, std::string_view mark) {
  std::size_t length = std::min(text.size(), mark.size());
  while (length > 0 && text.substr(text.size() - length) != mark.substr(0, length)) --length;
  return length;
}

}  // namespace

LauncherWords::LauncherWords() : mark_(fmt::format("\x1emoelab: ranks of launcher {}", getpid())) {
  setenv(kMarkVariable, mark_.c_str(), 1);
}

LauncherWords::~LauncherWords() { unsetenv(kMarkVariable); }

std::string LauncherWords::keep(std::string_view piece) {
  held_ += piece;
  std::string others;
  while (true) {
    const std::size_t begin = held_.find(mark_);
    if (begin == std::string::npos) break;
    const std::size_t end = held_.find('\n', begin);
    others.append(held_, 0, begin);
    held_.erase(0, begin);
    if (end == std::string::npos) return others;
    hear(std::string_view(held_).substr(mark_.size(), end - begin - mark_.size()));
    held_.erase(0, end - begin + 1);
  }
  const std::size_t kept = begun_mark(held_, mark_);
  others.append(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return others;
}

std::string LauncherWords::rest() {
  std::string kept = std::exchange(held_, {});
  return kept.starts_with(mark_) ? "" : kept;
}

void LauncherWords::hear(std::string_view word) {
  told_ = true;
  if (word.starts_with(kOutcome)) {
    if (auto outcome = find_outcome(word.substr(kOutcome.size()))) {
      outcomes_.push_back(std::move(*outcome));
    }
  }
  if (!word.starts_with(kWork)) return;
  word.remove_prefix(kWork.size());
  Note note;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), note.rank);
  if (error != std::errc()) return;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  note.what = word.substr(std::min<std::size_t>(1, word.size()));
  notes_.push_back(std::move(note));
}

std::vector<LauncherWords::Note> LauncherWords::look() { return std::exchange(notes_, {}); }

bool tell_launcher() {
  const char* variable = std::getenv(kMarkVariable);
  if (variable == nullptr) return false;
  own_mark() = variable;
  unsetenv(kMarkVariable);  // of this process alone
  if (mpi_job_rank().value_or(0) == 0) say("");
  return true;
}

bool tell_launcher_of(const Outcome& outcome) {
  Outcome told = outcome;
  told.message = told.message.substr(0, kMostMessage);
  std::string json = to_json(told);
  if (json.size() > kMostJson) {  // of characters that JSON writes as six
    told.message.clear();
    json = to_json(told);
  }
  return say(fmt::format("{}{}", kOutcome, json));
}

void tell_launcher_of_work(int rank, std::string_view what) {
  constexpr std::size_t kMostWork = 200;
  say(fmt::format("{}{} {}", kWork, rank, what.substr(0, kMostWork)));
}

}  // namespace moe
