#pragma once

#include <span>

namespace moe {

/// The place of `rank` among those of its `size` ranks that a Communicator is split into. Throws std::invalid_argument
/// unless they ascend, each once, and hold `rank`.
int place_in_subgroup(std::span<const int> ranks, int rank, int size);

}  // namespace moe
