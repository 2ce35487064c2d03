#include "moe/communicator/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace moe {
namespace {

int online_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int cores_of_mask() {
  cpu_set_t mask;
  // Fails beyond 1024 cores, where masks are longer.
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : online_cores();
}

/// The smallest quota of this process's control group (version 2) and those above it.
std::optional<int> quota_of_group() {
  std::ifstream groups("/proc/self/cgroup");
  std::optional<int> least;
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path group = line.substr(4);; group = group.parent_path()) {
      std::ifstream file(root / group / "cpu.max");
      std::string text;
      std::getline(file, text);
      const auto cores = cores_of_quota(text);
      if (cores) least = std::min(least.value_or(*cores), *cores);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace

int even_share(int usable, int online, int ranks) {
  return std::max(1, std::min(usable, online / std::max(1, ranks)));
}

std::optional<int> cores_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  double quota_us = 0, period_us = 0;
  if (!(text >> quota_us >> period_us) || period_us <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(std::min(quota_us / period_us, 1e6)));
}

int cores_of_rank(int ranks) {
  int online = online_cores();
  // A quota is one for all ranks of the group, as the machine's cores are.
  if (const auto quota = quota_of_group()) online = std::min(online, *quota);
  return even_share(cores_of_mask(), online, ranks);
}

int others_running() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    constexpr std::string_view key = "procs_running ";
    if (line.starts_with(key)) return std::max(0, std::atoi(line.c_str() + key.size()) - 1);
  }
  return 0;
}

int default_threads(int ranks) {
  const char* wish = std::getenv("OMP_NUM_THREADS");
  const int threads = wish == nullptr ? 0 : std::atoi(wish);
  return threads > 0 ? threads : cores_of_rank(ranks);
}

}  // namespace moe
