#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "moe/passes/layer_chunks.h"
#include "moe/passes/restore_activation.h"

namespace moe {

/// The tensors of received rows of a MoE layer in one micro-batch whose chunks share buffers, by
/// how backward gets the rows that it needs.
struct RestoredRows {
  std::set<TensorId> received;    ///< all: the rows that experts receive and make, in both phases
  std::set<TensorId> of_experts;  ///< the rows that experts make in forward
  std::set<TensorId> exchanged;   ///< the rows that an exchange reads or writes
  std::set<TensorId>
      staying;  ///< rows of forward that stay on the device until backward reads them
  std::vector<TensorId> offloaded;  ///< rows of forward that are copied to the host
  /// The forward ops that backward repeats, by position among the ops of a chunk (all_of).
  std::set<std::size_t> repeated;
  std::set<TensorId> made_by_those;  ///< the rows that the repeated ops write in backward
};
bool is_offloaded(const RestoredRows& rows, TensorId tensor);

/// Sorts the tensors by `restoring`, given the ops of the first chunk of each phase (all chunks
/// have the same ops).
RestoredRows restored_rows(const Program& program, const RestoreActivation& restoring,
                           const ChunkOps& forward, const ChunkOps& backward);

}  // namespace moe
