#pragma once

#include <span>

namespace moe {

/// The place of `rank` in `ranks`, a group that a Communicator of `size` ranks is split into.
/// Throws std::invalid_argument unless the ranks ascend, each occurs once, and `rank` is among
/// them.
int place_in_subgroup(std::span<const int> ranks, int rank, int size);

}  // namespace moe
