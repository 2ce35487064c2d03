#pragma once

#include <optional>
#include <string>

namespace moe {

/// Cores that a rank has to itself where `ranks` share this machine, at least 1: those of its
/// affinity mask, no more than its control group's quota and than an even share of the machine.
int cores_of_rank(int ranks);

/// Threads of a rank that was told no number: OMP_NUM_THREADS, or cores_of_rank.
int default_threads(int ranks);

/// Threads of other processes that run on this machine's cores or wait for one, at this moment.
int others_running();

/// The parts of cores_of_rank. `usable` cores of `online` ones; at least 1.
int even_share(int usable, int online, int ranks);
/// Whole cores in the text of a control group's cpu.max, at least 1; none where it sets no limit.
std::optional<int> cores_of_quota(const std::string& cpu_max);

}  // namespace moe
