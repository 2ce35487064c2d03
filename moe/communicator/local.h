#pragma once

#include <functional>
#include <vector>

#include "moe/communicator/communicator.h"

namespace moe {

/// run_local_ranks() with a thread for each rank of `node_of`, which says on what node it would run.
/// Collectives send and add as they do between nodes.
void run_local_ranks(const std::vector<int>& node_of,
                     const std::function<void(Communicator&)>& body);

}  // namespace moe
