#include "moe/communicator/cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "db/console/options.h"
#include "moe/errors.h"

namespace moe {
namespace {

int online_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

std::vector<int> cores_of_mask() {
  cpu_set_t mask;
  // Fails beyond 1024 cores, where masks are longer.
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  std::vector<int> cores;
  for (int core = 0; core < (known ? CPU_SETSIZE : online_cores()); ++core) {
    if (!known || CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
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

UsableCores usable_cores() {
  const int online = online_cores();
  return {cores_of_mask(), std::min(online, quota_of_group().value_or(online))};
}

CoreSets core_sets(const std::vector<UsableCores>& usable, const std::vector<int>& machine) {
  CoreSets sets;
  sets.set.assign(usable.size(), -1);
  for (std::size_t first = 0; first < usable.size(); ++first) {
    if (sets.set[first] >= 0) continue;
    const int number = static_cast<int>(sets.cores.size());
    std::vector<int> cores = usable[first].cores;
    int most = usable[first].most;
    sets.set[first] = number;
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t rank = first + 1; rank < usable.size(); ++rank) {
        const std::vector<int>& others = usable[rank].cores;
        if (sets.set[rank] >= 0 || machine[rank] != machine[first] ||
            std::find_first_of(cores.begin(), cores.end(), others.begin(), others.end()) ==
                cores.end()) {
          continue;
        }
        sets.set[rank] = number;
        std::vector<int> together;
        std::ranges::set_union(cores, others, std::back_inserter(together));
        cores = std::move(together);
        most = std::min(most, usable[rank].most);
        grown = true;
      }
    }
    sets.cores.push_back(std::max(1, std::min(static_cast<int>(cores.size()), most)));
  }
  return sets;
}

int cores_of_rank(int ranks) {
  const UsableCores usable = usable_cores();
  // The ranks of a group share its quota, as they share the machine's cores.
  return even_share(static_cast<int>(usable.cores.size()), usable.most, ranks);
}

Waiting waiting_of_threads(int threads, int cores) {
  const bool box = std::getenv("MOELAB_BOX_NODES") != nullptr;
  return !box && threads <= cores ? Waiting::awake : Waiting::asleep;
}

int default_threads(int ranks) {
  const char* wish = std::getenv("OMP_NUM_THREADS");
  const int threads = wish == nullptr ? 0 : std::atoi(wish);
  if (threads > db::options::kMostThreads) {
    throw InputError(fmt::format("OMP_NUM_THREADS: expected 1 to {}, got {}",
                                 db::options::kMostThreads, threads));
  }
  return threads > 0 ? threads : cores_of_rank(ranks);
}

}  // namespace moe
