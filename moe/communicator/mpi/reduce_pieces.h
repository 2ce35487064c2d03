#pragma once

#include <algorithm>
#include <cstdint>

#include "moe/communicator/mpi/messages.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Pieces posted at a time. Peers take turns in being late: with two, a reduce-scatter of 64 MiB on
/// 4 nodes of 2 Gbit/s took 225 ms instead of 208.
inline constexpr int kReducePiecesUnderWay = 4;

/// Elements that a rank adds at a time: large enough for the wire, small enough that adding one
/// piece hides behind the transfer of the next and that scratch stays below 4 x 4 MiB.
constexpr std::int64_t reduce_piece_count(int ranks, DType dtype) {
  constexpr std::int64_t largest_piece_bytes = std::int64_t{512} << 10;
  constexpr std::int64_t scratch_bytes = std::int64_t{4} << 20;
  const std::int64_t bytes =
      std::min(largest_piece_bytes, std::max<std::int64_t>(scratch_bytes / ranks, 4096));
  return bytes / bytes_of(dtype);
}

/// Room for what one reduction receives; no two run on a group at a time.
inline std::byte* reduce_scratch(MpiGroup& group, std::int64_t bytes) {
  if (static_cast<std::int64_t>(group.scratch.size()) < bytes) group.scratch.resize(bytes);
  return group.scratch.data();
}

}  // namespace moe
