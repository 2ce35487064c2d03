#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/op_sizes.h"
#include "moe/rows/row_layout.h"

namespace moe {

/// Bytes that the rows which an op exchanges carry to each peer.
template <ExchangesRows Kind>
std::vector<std::int64_t> row_bytes_to_peers(const Kind& kind, const OpSizes& s) {
  const Tensor& tensor = s.tensor(s.in(0));
  std::vector<std::int64_t> bytes(
      static_cast<std::size_t>(group_size(s.groups, kind.group, s.rank)));
  for (const Segment& segment : kind.sends(s.binding.layouts.at(s.routed_layer), s.in(0).slice)) {
    bytes[segment.peer] += segment.rows * tensor.columns * bytes_of(tensor.dtype);
  }
  bytes[index_in_group(s.groups, kind.group, s.rank)] = 0;
  return bytes;
}

}  // namespace moe
