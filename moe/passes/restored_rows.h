#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "moe/passes/layer_chunks.h"
#include "moe/passes/restore_activation.h"

namespace moe {

/// The rows of a MoE layer in one micro-batch whose chunks share buffers, and how backward comes by those that it needs.
struct RestoredRows {
  std::set<TensorId> received;    ///< that experts receive or make of them, forward or backward
  std::set<TensorId> of_experts;  ///< of forward: what experts make
  std::set<TensorId> exchanged;   ///< that an exchange reads or writes
  std::set<TensorId> staying;     ///< of forward, until backward reads them
  std::vector<TensorId> offloaded;
  std::set<std::size_t> repeated;    ///< places among a chunk's forward ops (all_of)
  std::set<TensorId> made_by_those;  ///< in backward
};
bool is_offloaded(const RestoredRows& rows, TensorId tensor);

/// As `restoring` says, from the ops of the first chunk of each phase: all chunks have the same.
RestoredRows restored_rows(const Program& program, const RestoreActivation& restoring,
                           const ChunkOps& forward, const ChunkOps& backward);

}  // namespace moe
