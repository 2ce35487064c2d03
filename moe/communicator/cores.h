#pragma once

#include <optional>
#include <string>
#include <vector>

namespace moe {

/// Cores that a rank has to itself where `ranks` share this machine, at least 1: those of its
/// affinity mask, no more than its control group's quota and than an even share of the machine.
int cores_of_rank(int ranks);

/// Where a process may compute.
struct UsableCores {
  std::vector<int> cores;  ///< numbers, ascending
  int most = 0;            ///< that its control group lets it use at one time
};
UsableCores usable_cores();

/// Ranks that compute on the same cores, as far as any two of them have one in common.
struct CoreSets {
  std::vector<int> set;    ///< by rank
  std::vector<int> cores;  ///< by set: how many its ranks can use at one time
};
/// `usable` and `machine` by rank. Sets are numbered in the order of their first rank.
CoreSets core_sets(const std::vector<UsableCores>& usable, const std::vector<int>& machine);

/// Threads of a rank that was told no number: OMP_NUM_THREADS, or cores_of_rank.
int default_threads(int ranks);

/// Threads of other processes that run on this machine's cores or wait for one, at this moment.
int others_running();

/// The parts of cores_of_rank. `usable` cores of `online` ones; at least 1.
int even_share(int usable, int online, int ranks);
/// Whole cores in the text of a control group's cpu.max, at least 1; none where it sets no limit.
std::optional<int> cores_of_quota(const std::string& cpu_max);

}  // namespace moe
