#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "moe/passes/op_edits.h"
#include "moe/program/program.h"

namespace moe {

/// One phase of one MoE layer in one micro-batch.
struct LayerPhase {
  int layer = 0;
  int micro_batch = 0;
  Phase phase = Phase::forward;
  friend auto operator<=>(const LayerPhase&, const LayerPhase&) = default;
};
bool writes_any_of(const Op& op, const std::set<TensorId>& tensors);

/// True for rows that experts of the layer receive or make.
bool is_received(const Program& program, int layer, const Use& use);

/// The ops of one chunk. `send`, `compute` and `back` are MPMoE's S, C and R: the exchange to the
/// experts, the experts, and the exchange back. `weights` are the weight gradients in backward,
/// which no exchange waits for. `home` are the ops on rows that have come back.
struct ChunkOps {
  std::vector<Op> send, compute, back, weights, home;
};
std::vector<Op> all_of(const ChunkOps& chunk);

struct LayerChunks {
  std::vector<ChunkOps> chunks;
  std::size_t place = 0;  ///< the place of the first op
};

/// Takes, of ops of one LayerPhase at `places`, those that pipeline_split has cut
/// (follows_routed_rows), chunk by chunk.
LayerChunks take_chunks(const Program& program, std::span<const std::size_t> places,
                        OpEdits& edits);

}  // namespace moe
