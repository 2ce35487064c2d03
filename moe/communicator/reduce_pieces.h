#pragma once

#include <algorithm>
#include <cstdint>

#include "moe/tensor.h"

namespace moe {

/// Elements that a rank adds at a time: large enough for the wire, small enough that adding one
/// piece hides behind the transfer of the next and that scratch stays below 2 x 8 MiB.
constexpr std::int64_t reduce_piece_count(int ranks, DType dtype) {
  constexpr std::int64_t largest_piece_bytes = std::int64_t{1} << 20;
  constexpr std::int64_t scratch_bytes = std::int64_t{8} << 20;
  const std::int64_t bytes =
      std::min(largest_piece_bytes, std::max<std::int64_t>(scratch_bytes / ranks, 4096));
  return bytes / bytes_of(dtype);
}

}  // namespace moe
