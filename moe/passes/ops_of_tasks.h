#pragma once

#include <vector>

#include "moe/passes/stage_orders.h"
#include "moe/program/program.h"

namespace moe {

/// The chunks of blocks that the stages of a Program have (place_blocks.h).
struct StageChunks {
  std::vector<int> of_block;  ///< [block]: among the chunks of all stages, in the order of blocks
  int count = 0;              ///< of all stages
  bool in_turn = true;        ///< every stage has as many, stage after stage
  bool is_v = false;          ///< they are as ChunkPath::v says

  explicit StageChunks(const Program& program);
  ChunkPath path() const { return is_v ? ChunkPath::v : ChunkPath::in_turn; }
  /// The chunk of an op of forward or backward. `behind_blocks`: whether ops of blocks came before
  /// it in its phase and micro-batch; then it is one of the head in forward, of the embedding in
  /// backward.
  int of(const Op& op, bool behind_blocks) const;
};

using Ops = std::vector<Op>;

/// The ops of a Program by the task that they belong to (stage_orders.h), each task in its own
/// order.
class OpsOfTasks {
 public:
  /// Takes the ops out of the Program. `weight_gradients_apart`: they are tasks of their own
  /// (separate_weight_gradients.h).
  OpsOfTasks(Program& program, const StageChunks& chunks, bool weight_gradients_apart);

  int micro_batches() const { return micro_batches_; }
  Ops take(int stage, StageTask task);
  /// What comes once in an iteration.
  Ops take_once();

 private:
  /// `chunk`: among the chunks of all stages.
  Ops& at(int chunk, Pass pass, int micro_batch);

  int stages_, micro_batches_;
  ChunkPath path_;
  std::vector<Ops> tasks_;
  Ops once_;
};

}  // namespace moe
