#include "tuner/study/training_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "db/records.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/outcome.h"
#include "moe/stop.h"
#include "tuner/study/silent_hosts.h"

namespace tuner {
namespace {

namespace fs = std::filesystem;

/// What a child ends with that cannot be executed (moe/child.h). Codes of launchers never come here:
/// moe-train tells what they mean.
constexpr int kNoProgram = 127;

/// How many processes the kernel has killed since it started because memory ran out; -1 where it
/// does not tell.
long out_of_memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (long value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return -1;
}

/// As moe-train reads it on stdin.
std::string line_of(const moe::Schedule& schedule) {
  return fmt::format(R"({{"planner": {}, "decisions": {}}})",
                     nlohmann::json(schedule.planner).dump(), moe::decisions_json(schedule));
}

/// What mpirun says of a rank that was ended by a signal; "" where it says nothing.
std::string noticed_by_mpirun(const std::string& errors) {
  constexpr std::string_view words = "mpirun noticed that process ";
  const std::size_t begin = errors.find(words);
  if (begin == std::string::npos) return "";
  const std::size_t at = begin + words.size();
  return errors.substr(at, errors.find('\n', at) - at);
}

/// The end of `text`, at most `most` bytes, without the dashes that mpirun adds.
std::string last_words(const std::string& whole, std::size_t most) {
  std::string text;
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of("- \t\r") != std::string::npos) text += line + '\n';
  }
  const auto end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t begin = end + 1 > most ? end + 1 - most : 0;
  return text.substr(begin, end + 1 - begin);
}

/// For a person: what the training gave as its reason, or what stands on its stderr.
std::string complaint(const moe::Outcome& outcome, const std::string& errors) {
  if (outcome.status == moe::OutcomeStatus::lost_rank) {
    if (std::string noticed = noticed_by_mpirun(errors); !noticed.empty()) return noticed;
  }
  return outcome.message.empty() ? last_words(errors, 500) : outcome.message;
}

/// The JSON objects among the lines of stdout, one for each schedule.
std::vector<nlohmann::json> find_summaries(const std::string& output) {
  std::vector<nlohmann::json> found;
  for (std::size_t at = 0; at < output.size();) {
    const auto end = std::min(output.find('\n', at), output.size());
    const auto json =
        nlohmann::json::parse(output.begin() + static_cast<std::ptrdiff_t>(at),
                              output.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (json.is_object() && json.contains("iteration_s")) found.push_back(json);
    at = end + 1;
  }
  return found;
}

/// Of a schedule whose training came to its end.
JobResult read_summary(const nlohmann::json& summary) {
  JobResult result;
  result.iteration_s = summary.value("iteration_s", 0.0);
  result.run_id = summary.value("run", std::int64_t{0});
  result.measured_peak_bytes = summary.value("measured_peak_bytes", std::int64_t{0});
  const auto loss = summary.find("loss");
  const bool measured = loss != summary.end() && loss->is_number() && result.iteration_s > 0;
  result.status = measured ? "done" : "failed";
  if (!measured) result.error = "the training diverged or measured nothing: " + summary.dump();
  return result;
}

/// A node that goes away without a word leaves ranks that wait for it, or whose connections end. A
/// signal that ended a rank says that its node was there.
bool may_be_a_lost_node(const JobResult& result) {
  return result.status == "hung" ||
         (result.status == "crashed" && !moe::is_exit_code_of_signal(result.exit_code));
}

std::vector<JobResult> read_summaries(const std::string& output, std::size_t schedules) {
  std::vector<JobResult> results;
  for (const nlohmann::json& summary : find_summaries(output)) {
    results.push_back(read_summary(summary));
  }
  if (results.size() == schedules) return results;
  JobResult failed;
  failed.status = "failed";
  failed.error = fmt::format("{} summaries on stdout, expected {}: {}", results.size(), schedules,
                             last_words(output, 200));
  return std::vector(schedules, failed);
}

}  // namespace

std::vector<JobResult> classify(const moe::ChildResult& child, bool kernel_killed_for_memory,
                                std::size_t schedules) {
  using End = moe::ChildResult::End;
  using Status = moe::OutcomeStatus;
  JobResult result;
  result.exit_code = child.end == End::exited ? child.code : 128 + child.code;
  const std::optional<moe::Outcome> told = moe::find_outcome(child.output);
  moe::Outcome outcome = told.value_or(moe::outcome_of_exit(result.exit_code));
  if (!told && child.end == End::exited && child.code == kNoProgram) {
    outcome = {Status::not_started};
  }
  if (outcome.status == Status::done && result.exit_code != 0) outcome = {Status::failed};
  const std::string reason = complaint(outcome, child.errors);
  if (child.end == End::timed_out) {
    result.status = "hung";
    result.error = fmt::format("ended after {:.0f} s: {}", child.seconds, reason);
    return std::vector(schedules, result);
  }
  if (kernel_killed_for_memory) outcome.status = Status::out_of_memory;
  switch (outcome.status) {
    case Status::done:
      return read_summaries(child.output, schedules);
    case Status::out_of_memory:
      result.status = "out_of_memory";
      result.error = reason;
      break;
    case Status::time_limit:
      result.status = "hung";
      result.error = reason;
      break;
    case Status::killed:
      // Whoever asked the ranks, such as a batch system that signals its steps, means all of it. A
      // launcher that lost a rank asks them too, and ends with another code.
      if (outcome.signal && moe::is_exit_code_of_signal(result.exit_code)) {
        throw moe::Stopped("its training was asked to end", *outcome.signal);
      }
      [[fallthrough]];
    case Status::lost_rank:
      result.status = "crashed";
      result.error =
          outcome.signal ? fmt::format("signal {}: {}", *outcome.signal, reason) : reason;
      break;
    case Status::not_started:
      result.status = db::kNotStarted;
      result.error = reason;
      break;
    case Status::lost_node:
      result.status = db::kLostNode;
      result.error = reason;
      break;
    case Status::lost_output:
      throw moe::LostOutput("the training stopped: " + reason);
    case Status::refused:
    case Status::not_finite:
    case Status::failed:
      result.status = "failed";
      result.error = fmt::format("exit code {}: {}", result.exit_code, reason);
      break;
  }
  return std::vector(schedules, result);
}

std::vector<JobResult> train(const TrainingJob& job, std::span<const moe::Schedule> schedules,
                             int steps, int timelines, double time_limit_s,
                             const std::function<void()>& alive) {
  if (moe::stop_signal() != 0) {
    throw moe::Stopped(moe::stop_reason(moe::stop_signal()), moe::stop_signal());
  }
  std::string lines;
  for (const moe::Schedule& schedule : schedules) lines += line_of(schedule) + '\n';
  std::vector<std::string> argv{job.program,
                                "--model",
                                job.model,
                                "--steps",
                                std::to_string(steps),
                                "--schedule",
                                "-",
                                "--db",
                                job.database,
                                "--device",
                                job.device,
                                "--timelines",
                                std::to_string(timelines),
                                "--balanced-steps",
                                "0",
                                "--evaluate-batches",
                                "0",
                                "--format",
                                "json",
                                "--log-level",
                                "warning"};
  const auto add = [&](const char* option, const std::string& value) {
    argv.emplace_back(option);
    argv.push_back(value);
  };
  if (job.in_process) {
    std::ranges::copy(job.in_process.words(), std::back_inserter(argv));
  } else {
    add("--ranks", std::to_string(job.ranks));
  }
  for (const std::string& setting : job.settings) add("--set", setting);
  if (!job.layout.empty()) add("--layout", job.layout);
  if (!job.launcher.command.empty()) add("--launcher", job.launcher.command);
  if (!job.launcher.hostfile.empty()) add("--hostfile", job.launcher.hostfile);
  if (job.threads > 0) add("--threads", std::to_string(job.threads));
  if (job.seed) add("--seed", std::to_string(*job.seed));
  if (job.memory_limit_bytes > 0) add("--memory-limit", std::to_string(job.memory_limit_bytes));
  if (job.copy_gbps > 0) add("--copy-gbps", fmt::format("{}", job.copy_gbps));
  if (!job.data.empty()) {
    argv.emplace_back("--data");
    argv.insert(argv.end(), job.data.begin(), job.data.end());
  }
  const long kills = out_of_memory_kills();
  const moe::ChildResult child = moe::run_child(argv, time_limit_s, alive, lines);
  std::vector<JobResult> results =
      classify(child, child.code != 0 && out_of_memory_kills() > kills, schedules.size());
  if (job.in_process || !may_be_a_lost_node(results.front())) return results;
  const std::string silent = why_hosts_are_silent(job.ranks, job.launcher, alive);
  if (silent.empty()) return results;
  for (JobResult& result : results) {
    result.error = fmt::format("{}: {}; {}", result.status, result.error, silent);
    result.status = db::kLostNode;
  }
  return results;
}

bool is_no_verdict(std::string_view status) {
  return status == db::kNotStarted || status == db::kLostNode;
}

void throw_failure(const std::string& what, const JobResult& result) {
  const std::string text = fmt::format("{} ended as {}: {}", what, result.status, result.error);
  if (result.status == "hung") throw moe::TimeLimit(text);
  if (result.status == "out_of_memory") throw moe::OutOfMemory(text);
  if (is_no_verdict(result.status)) throw moe::CommunicationError(text);
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
