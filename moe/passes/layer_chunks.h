#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// One phase of one MoE layer in one micro-batch.
struct LayerPhase {
  int layer = 0;
  int micro_batch = 0;
  Phase phase = Phase::forward;
};
bool is_of(const Op& op, const LayerPhase& where);
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
  std::size_t place = 0;  ///< the place of the first chunk, counted in the ops that are left
};

/// Removes from the Program the ops that pipeline_split has cut (follows_routed_rows), chunk by
/// chunk.
LayerChunks take_chunks(Program& program, const LayerPhase& from);

}  // namespace moe
