#include "moe/communicator/mpi/start_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "moe/communicator/mpi_job.h"
#include "moe/threads.h"

namespace moe {
namespace {

namespace fs = std::filesystem;

constexpr int kTimeLimitExitCode = 124;
/// The name of a thread, seen in /proc while its process is in MPI's start; at most 15 characters.
constexpr const char* kThreadName = "moe-mpi-start";
/// Variables that name the job of a process, of Open MPI and PMIx.
constexpr std::array kJobVariables = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"};
constexpr std::array kRankOfJob = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A value in an environment as /proc has it: NAME=value, each ended by a zero.
template <std::size_t n>
std::string first_of(const std::array<const char*, n>& names, const std::string& environment) {
  for (const char* name : names) {
    const std::string head = std::string(name) + "=";
    std::size_t begin = environment.starts_with(head) ? 0 : environment.find('\0' + head);
    if (begin == std::string::npos) continue;
    begin = environment.find('=', begin) + 1;
    return environment.substr(begin, environment.find('\0', begin) - begin);
  }
  return "";
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr != end || text.empty()) return std::nullopt;
  return value;
}

struct Rank {
  int process = 0;
  bool stopped = false;
  bool in_start = false;  ///< whether it waits in MPI's start
};

Rank look_at(const fs::path& process) {
  Rank rank;
  // "pid (name) state ...": the name may hold anything.
  const std::string stat = text_of(process / "stat");
  const std::size_t end = stat.rfind(')');
  const char state = end != std::string::npos && end + 2 < stat.size() ? stat[end + 2] : '?';
  rank.stopped = state == 'T' || state == 't';
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(process / "task", gone)) {
    if (text_of(task.path() / "comm") == std::string(kThreadName) + "\n") rank.in_start = true;
  }
  return rank;
}

/// The ranks of this process's job on this machine.
std::map<int, Rank> ranks_of_job_here() {
  std::map<int, Rank> ranks;
  const std::string job = first_of(kJobVariables, text_of("/proc/self/environ"));
  if (job.empty()) return ranks;
  std::error_code gone;
  for (const auto& process : fs::directory_iterator("/proc", gone)) {
    const auto id = whole_number(process.path().filename());
    if (!id) continue;
    const std::string environment = text_of(process.path() / "environ");
    const auto rank = whole_number(first_of(kRankOfJob, environment));
    if (!rank || first_of(kJobVariables, environment) != job) continue;
    Rank seen = look_at(process.path());
    seen.process = *id;
    // Children of a rank have its environment too. The rank is the process in MPI's start, or the
    // oldest one.
    const auto known = ranks.find(*rank);
    if (known == ranks.end() || (seen.in_start && !known->second.in_start) ||
        (seen.in_start == known->second.in_start && *id < known->second.process)) {
      ranks[*rank] = seen;
    }
  }
  return ranks;
}

}  // namespace

std::string missing_ranks() {
  const auto here = ranks_of_job_here();
  std::vector<std::string> missing;
  for (const auto& [rank, seen] : here) {
    if (seen.stopped) {
      missing.push_back(fmt::format("rank {} (process {}) is stopped", rank, seen.process));
    } else if (!seen.in_start) {
      missing.push_back(fmt::format("rank {} (process {}) has not come to it", rank, seen.process));
    }
  }
  std::vector<int> elsewhere;
  for (int rank = 0; rank < mpi_job_size().value_or(0); ++rank) {
    if (!here.contains(rank)) elsewhere.push_back(rank);
  }
  if (!elsewhere.empty()) {
    missing.push_back(fmt::format("rank{} {} ha{} no process on this machine",
                                  elsewhere.size() == 1 ? "" : "s", fmt::join(elsewhere, ", "),
                                  elsewhere.size() == 1 ? "s" : "ve"));
  }
  if (missing.empty()) return "every rank of this machine waits in it";
  return fmt::format("{}", fmt::join(missing, "; "));
}

StartWatch::StartWatch(double limit_s)
    : thread_(start_thread("the watch over MPI's start", [this, limit_s] { watch(limit_s); })) {}

StartWatch::~StartWatch() {
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StartWatch::watch(double limit_s) {
  prctl(PR_SET_NAME, kThreadName);
  std::unique_lock lock(mutex_);
  // A rank that was itself stopped, and goes on when its job is ended, must not report. So each
  // look counts at most for so long.
  using Clock = std::chrono::steady_clock;
  constexpr auto look = std::chrono::milliseconds(100);
  constexpr double longest_look_s = 0.5;
  for (double waited_s = 0; waited_s < limit_s;) {
    const auto before = Clock::now();
    if (changed_.wait_for(lock, look, [this] { return started_; })) return;
    const std::chrono::duration<double> took = Clock::now() - before;
    waited_s += std::min(took.count(), longest_look_s);
  }
  const auto here = ranks_of_job_here();
  const std::string own = first_of(kRankOfJob, text_of("/proc/self/environ"));
  // One of the waiting ranks reports; the others give it time.
  const auto teller = std::find_if(here.begin(), here.end(), [](const auto& entry) {
    return entry.second.in_start && !entry.second.stopped;
  });
  if (teller != here.end() && std::to_string(teller->first) != own) {
    if (changed_.wait_for(lock, std::chrono::seconds(3), [this] { return started_; })) return;
  }
  spdlog::error("rank {} waited {} s in MPI's start: {}", own.empty() ? "?" : own, limit_s,
                missing_ranks());
  std::_Exit(kTimeLimitExitCode);
}

}  // namespace moe
