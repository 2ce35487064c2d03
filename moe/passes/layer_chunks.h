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

/// Rows that experts of the layer receive or make.
bool is_received(const Program& program, int layer, const Use& use);

/// One chunk's ops: MPMoE's S (what is sent to the experts), C and R (what comes back); in backward the weight gradients,
/// which nothing on the way home waits for; and what is done with rows that have come home.
struct ChunkOps {
  std::vector<Op> send, compute, back, weights, home;
};
std::vector<Op> all_of(const ChunkOps& chunk);

struct LayerChunks {
  std::vector<ChunkOps> chunks;
  std::size_t place = 0;  ///< of the first of them, among the ops that are left
};

/// Takes the ops that pipeline_split cuts (follows_routed_rows) out of the Program, chunk by chunk.
LayerChunks take_chunks(Program& program, const LayerPhase& from);

}  // namespace moe
