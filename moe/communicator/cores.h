#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moe/backend/backend.h"

namespace moe {

/// Cores that a rank has to itself where `ranks` share this machine, at least 1: those of its
/// affinity mask, but no more than the quota of its control group, and no more than an even share.
int cores_of_rank(int ranks);

/// The cores on which a process may compute.
struct UsableCores {
  std::vector<int> cores;  ///< their numbers, ascending
  int most = 0;            ///< how many its control group lets it use at a time
};
UsableCores usable_cores();

/// Sets of ranks that compute on the same cores. Two ranks with a core in common are in one set.
struct CoreSets {
  std::vector<int> set;    ///< by rank: the set that it is in
  std::vector<int> cores;  ///< by set: how many its ranks can use at a time
};
/// `usable` and `machine` by rank. Sets are numbered in the order of their first rank.
CoreSets core_sets(const std::vector<UsableCores>& usable, const std::vector<int>& machine);

/// Threads of a rank that was given no number: OMP_NUM_THREADS, else cores_of_rank. Throws
/// InputError where that variable is larger than --threads may be.
int default_threads(int ranks);

/// How `threads` threads of ranks that can use `cores` cores together wait for the next loop: awake
/// where each has a core, asleep elsewhere and in a cluster in a box, whose cores also move bytes.
Waiting waiting_of_threads(int threads, int cores);

/// The parts of cores_of_rank. `usable` cores of `online` ones; at least 1.
int even_share(int usable, int online, int ranks);
/// Whole cores in the text of a control group's cpu.max, at least 1. None without a limit.
std::optional<int> cores_of_quota(const std::string& cpu_max);

}  // namespace moe
