#include "microbench/awake_ranks.h"

#include <algorithm>

#include "moe/communicator/cores.h"

namespace microbench {

bool may_wait_awake(const std::vector<moe::RankInfo>& all, const std::vector<int>& ranks) {
  return !ranks.empty() && std::ranges::all_of(ranks, [&](int rank) {
    const auto sharers = std::ranges::count_if(
        ranks, [&](int other) { return all[other].core_set == all[rank].core_set; });
    return moe::waiting_of_threads(static_cast<int>(sharers), all[rank].cores) ==
           moe::Waiting::awake;
  });
}

}  // namespace microbench
