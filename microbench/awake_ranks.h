#pragma once

#include <vector>

#include "moe/communicator/ranks.h"

namespace microbench {

/// Whether each of these ranks of `all` has a core to itself, so that they may wait without sleeping
/// (moe/communicator/awake.h). The same on every rank; false in a cluster in a box, whose cores also
/// move bytes.
bool may_wait_awake(const std::vector<moe::RankInfo>& all, const std::vector<int>& ranks);

}  // namespace microbench
