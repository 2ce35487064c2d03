#pragma once

#include <string>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// Buffers for the rows of one chunk each, which the chunks use in turn: chunk c uses number c
/// modulo their count.
using Ring = std::vector<TensorId>;

constexpr TensorId buffer_of(const Ring& ring, int chunk) {
  return ring[static_cast<std::size_t>(chunk) % ring.size()];
}

/// Makes `buffers` buffers for `chunks` chunks of the received rows of `tensor`. They have its name
/// with `suffix`, and with a number where there are several. `reuse`: the first buffer replaces
/// `tensor`; otherwise all are added. With a capacity each buffer has room for the largest chunk: a
/// share, rounded up, of the rows of every pair of a sending rank and an expert.
Ring make_ring(Program& program, TensorId tensor, int chunks, int buffers,
               const std::string& suffix, bool reuse);

}  // namespace moe
