#pragma once

#include <string>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// Tensors of one chunk's rows each that chunks use in turn, by chunk modulo how many they are.
using Ring = std::vector<TensorId>;

constexpr TensorId buffer_of(const Ring& ring, int chunk) {
  return ring[static_cast<std::size_t>(chunk) % ring.size()];
}

/// `buffers` tensors for one of `chunks` chunks of the rows of `tensor` (received ones), called as it is with `suffix` and
/// a number where there are several. `reuse`: the first takes its place, else all are added. With a capacity each has
/// room for the most that a chunk can have: of every pair of a sending rank and an expert a share, rounded up.
Ring make_ring(Program& program, TensorId tensor, int chunks, int buffers,
               const std::string& suffix, bool reuse);

}  // namespace moe
