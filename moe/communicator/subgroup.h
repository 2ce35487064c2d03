#pragma once

#include <span>

namespace moe {

/// The index of `rank` in a group of ranks that a Communicator of `size` ranks is split into.
/// Throws std::invalid_argument unless they ascend, each once, with `rank` among them.
int place_in_subgroup(std::span<const int> ranks, int rank, int size);

}  // namespace moe
