#pragma once

#include <algorithm>
#include <cstdint>

namespace moe {

/// The bytes of an array that travel along a chain of ranks together: a rank passes them on when it
/// has all of them. So many that a chain of tens of ranks fills in little more than the time of the
/// array, and that a message is worth its start.
constexpr std::int64_t chain_fragment_bytes(std::int64_t array_bytes) {
  constexpr std::int64_t fragments = 64, least = 32 * 1024, most = 512 * 1024;
  return std::min(array_bytes, std::clamp(array_bytes / fragments, least, most));
}

}  // namespace moe
