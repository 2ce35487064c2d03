#include "tuner/study/training_job.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "moe/errors.h"
#include "moe/stop.h"

namespace tuner {
namespace {

namespace fs = std::filesystem;

/// A file in memory that child processes read by a path of this process. It has no name in a file
/// system, so nothing of it remains, however this process ends.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : file_(memfd_create("schedule.json", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = write(file_, text.data() + at, text.size() - at);
      if (count < 0) {
        close(file_);
        throw std::system_error(errno, std::generic_category(), "a schedule in memory");
      }
      at += static_cast<std::size_t>(count);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

 private:
  int file_;
};

/// True for the lines that mpirun adds whatever happened, and for what is printed at every start.
bool says_nothing(const std::string& line) {
  return line.find_first_not_of("- \t\r") == std::string::npos ||
         line.starts_with("Primary job  terminated") || line.starts_with("a non-zero exit code.") ||
         line.starts_with("moe-train: ");
}

/// The last lines of `text` that say something, at most `most` bytes.
std::string last_words(const std::string& whole, std::size_t most) {
  std::string text;
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line);) {
    if (!says_nothing(line)) text += line + '\n';
  }
  const auto end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t begin = end + 1 > most ? end + 1 - most : 0;
  return text.substr(begin, end + 1 - begin);
}

std::string without_prefix(const std::string& line, const std::string& prefix) {
  return line.substr(line.find(prefix) + prefix.size());
}

/// "moe-train: MODEL on 2 ranks (...": not a complaint, but how a training begins.
bool is_banner(std::string_view line) {
  const std::size_t on = line.find(" on ");
  if (on == std::string_view::npos) return false;
  const std::string_view count = line.substr(on + 4);
  const std::size_t digits = count.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  return count.substr(digits).starts_with(" rank (") ||
         count.substr(digits).starts_with(" ranks (");
}

/// The failure in one line: the first message that does not only repeat that of another rank; where
/// a rank died without a message, the line of mpirun.
std::string complaint(const std::string& errors) {
  std::string noticed, echo;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("mpirun noticed that process ")) {
      if (noticed.empty()) noticed = without_prefix(line, "that process ");
    } else if (line.starts_with("moe-train: ") && !is_banner(line)) {
      if (line.find(" cannot finish: ") == std::string::npos) return line;
      if (echo.empty()) echo = line;
    }
  }
  if (!noticed.empty()) return noticed;
  return echo.empty() ? last_words(errors, 500) : echo;
}

/// True where the text has a message of moe::OutOfMemory, or of a system library that ran out of
/// memory.
bool says_out_of_memory(const std::string& errors) {
  std::string text = errors;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* words : {"out of memory", " of arena, ", "the arena holds",
                            "arena: ", "bad_alloc", "cannot allocate memory"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

/// The JSON object among the lines of stdout.
std::optional<nlohmann::json> find_summary(const std::string& output) {
  for (std::size_t at = 0; at < output.size();) {
    const auto end = std::min(output.find('\n', at), output.size());
    const auto json =
        nlohmann::json::parse(output.begin() + static_cast<std::ptrdiff_t>(at),
                              output.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (json.is_object() && json.contains("iteration_s")) return json;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

JobResult classify(const ChildResult& child, bool kernel_killed_for_memory) {
  JobResult result;
  result.exit_code = child.end == ChildResult::End::exited ? child.code : 128 + child.code;
  using End = ChildResult::End;
  // mpirun ends with 128 + the signal of the rank that it killed.
  const bool signalled = child.end == End::signalled || child.code > 128;
  if (child.end == End::timed_out || (child.end == End::exited && child.code == 124)) {
    result.status = "hung";
    result.error = child.end == End::timed_out ? fmt::format("ended after {:.0f} s: {}",
                                                             child.seconds, complaint(child.errors))
                                               : complaint(child.errors);
  } else if (kernel_killed_for_memory || (child.code != 0 && says_out_of_memory(child.errors))) {
    result.status = "out_of_memory";
    result.error = complaint(child.errors);
  } else if (signalled) {
    result.status = "crashed";
    const int signal = child.end == End::signalled ? child.code : child.code - 128;
    result.error = fmt::format("signal {}: {}", signal, complaint(child.errors));
  } else if (child.code != 0) {
    result.status = "failed";
    result.error = fmt::format("exit code {}: {}", child.code, complaint(child.errors));
  } else if (const auto summary = find_summary(child.output)) {
    result.status = "done";
    result.iteration_s = summary->value("iteration_s", 0.0);
    result.run_id = summary->value("run", std::int64_t{0});
    result.measured_peak_bytes = summary->value("measured_peak_bytes", std::int64_t{0});
    if (const auto loss = summary->find("loss");
        loss == summary->end() || !loss->is_number() || !(result.iteration_s > 0)) {
      result.status = "failed";
      result.error = "the training diverged or measured nothing: " + summary->dump();
    }
  } else {
    result.status = "failed";
    result.error = "no summary on stdout: " + last_words(child.output, 200);
  }
  return result;
}

JobResult train(const TrainingJob& job, const moe::Schedule& schedule, int steps, int timelines,
                double time_limit_s, const std::function<void()>& alive) {
  if (moe::stop_signal() != 0) {
    throw moe::Stopped(moe::stop_reason(moe::stop_signal()), moe::stop_signal());
  }
  const MemoryFile file(moe::to_json(schedule));
  std::vector<std::string> argv{job.program,
                                "--model",
                                job.model,
                                "--steps",
                                std::to_string(steps),
                                "--ranks",
                                std::to_string(job.ranks),
                                "--schedule",
                                file.path(),
                                "--db",
                                job.database,
                                "--device",
                                job.device,
                                "--timelines",
                                std::to_string(timelines),
                                "--evaluate-batches",
                                "0",
                                "--format",
                                "json"};
  const auto add = [&](const char* option, const std::string& value) {
    argv.emplace_back(option);
    argv.push_back(value);
  };
  if (!job.layout.empty()) add("--layout", job.layout);
  if (job.threads > 0) add("--threads", std::to_string(job.threads));
  if (job.seed) add("--seed", std::to_string(*job.seed));
  if (job.memory_limit_bytes > 0) add("--memory-limit", std::to_string(job.memory_limit_bytes));
  if (job.copy_gbps > 0) add("--copy-gbps", fmt::format("{}", job.copy_gbps));
  if (!job.data.empty()) {
    argv.emplace_back("--data");
    argv.insert(argv.end(), job.data.begin(), job.data.end());
  }
  const long kills = out_of_memory_kills();
  const ChildResult child = run_child(argv, time_limit_s, alive);
  return classify(child, child.code != 0 && out_of_memory_kills() > kills);
}

void throw_failure(const std::string& what, const JobResult& result) {
  const std::string text = fmt::format("{} {}: {}", what, result.status, result.error);
  if (result.status == "hung") throw moe::TimeLimit(text);
  if (result.exit_code == 2) throw moe::InputError(text);
  if (result.exit_code > 128) throw moe::Stopped(text, result.exit_code - 128);
  throw std::runtime_error(text);
}

std::string find_moe_train() {
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "moe-train";
  if (!fs::exists(beside, ignored)) {
    throw moe::InputError(fmt::format("{}: not found; a study runs it", beside.string()));
  }
  return beside.string();
}

}  // namespace tuner
