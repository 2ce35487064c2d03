#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"

namespace moe {

/// A rank and where it runs.
struct RankInfo {
  std::string hostname;  ///< the name of its node (node_name.h)
  int node = 0;          ///< ranks whose nodes have equal names are on one node
  int machine = 0;       ///< nodes under one kernel (a cluster in a box) are one machine
  int core_set = 0;  ///< ranks with cores in common have the same number, but for nodes of a box
                     ///< that have a share each
  int cores = 1;     ///< how many the ranks of its core set can use at a time
  std::int64_t pid = 0;
  ClockOffset clock;  ///< may be unknown (clock_offset.h)
};

/// Host names, machines, cores, process ids and clocks of all ranks of `world`, the same on every
/// rank. `node`: what this rank's node is called, of node_name() where it is "". Rank 0 says whose
/// clocks it does not know. Each wait for another rank lasts time_limit_s at
/// most. Collective.
std::vector<RankInfo> survey_ranks(Communicator& world, double time_limit_s = kDefaultTimeLimit_s,
                                   const std::string& node = "");
/// RankInfo::node by rank.
std::vector<int> nodes_of(const std::vector<RankInfo>& ranks);
/// Ranks that share processors and memory with `rank`, itself included.
int ranks_on_machine(const std::vector<RankInfo>& ranks, int rank);

/// The text of every rank, in rank order: any bytes, of any length. Every rank calls it.
std::vector<std::string> gather_texts(Communicator& world, const std::string& mine,
                                      const CallContext& call);
/// The text of rank 0, on every rank: any bytes, of any length. Every rank calls it.
std::string broadcast_text(Communicator& world, const std::string& of_rank_0,
                           const CallContext& call);

}  // namespace moe
