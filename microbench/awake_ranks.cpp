#include "microbench/awake_ranks.h"

#include <algorithm>

#include "moe/communicator/cores.h"

namespace microbench {

namespace {

/// Whether nodes of these ranks are under one kernel, as those of a cluster in a box. All ranks
/// know that; what the environment says of a box, ssh has not carried to every node.
bool are_in_a_box(const std::vector<moe::RankInfo>& all, const std::vector<int>& ranks) {
  return std::ranges::any_of(ranks, [&](int rank) {
    return std::ranges::any_of(ranks, [&](int other) {
      return all[other].machine == all[rank].machine && all[other].node != all[rank].node;
    });
  });
}

}  // namespace

bool may_wait_awake(const std::vector<moe::RankInfo>& all, const std::vector<int>& ranks) {
  return !ranks.empty() && !are_in_a_box(all, ranks) && std::ranges::all_of(ranks, [&](int rank) {
    const auto sharers = std::ranges::count_if(
        ranks, [&](int other) { return all[other].core_set == all[rank].core_set; });
    return moe::waiting_of_threads(static_cast<int>(sharers), all[rank].cores) ==
           moe::Waiting::awake;
  });
}

}  // namespace microbench
