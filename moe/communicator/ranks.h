#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"

namespace moe {

/// Who a rank is and where it runs.
struct RankInfo {
  std::string hostname;
  int node = 0;      ///< equal host names are one node
  int machine = 0;   ///< nodes of one running kernel, as a cluster in a box has, are one machine
  int core_set = 0;  ///< equal for ranks that have cores in common
  int cores = 1;     ///< that the ranks of its core set can use at one time
  std::int64_t pid = 0;
  ClockOffset clock;
};

/// Host names, machines, cores, process ids and clocks of all ranks of `world`, the same on every
/// rank. Each wait for another rank lasts time_limit_s at most. Collective.
std::vector<RankInfo> survey_ranks(Communicator& world, double time_limit_s = kDefaultTimeLimit_s);
/// RankInfo::node by rank.
std::vector<int> nodes_of(const std::vector<RankInfo>& ranks);
/// Ranks that share processors and memory with `rank`, itself included.
int ranks_on_machine(const std::vector<RankInfo>& ranks, int rank);

/// The text of every rank, in rank order; any bytes, of any length. Collective.
std::vector<std::string> gather_texts(Communicator& world, const std::string& mine,
                                      const CallContext& call);

}  // namespace moe
