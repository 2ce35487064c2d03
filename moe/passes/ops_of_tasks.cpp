#include "moe/passes/ops_of_tasks.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "moe/passes/place_blocks.h"
#include "moe/passes/separate_weight_gradients.h"

namespace moe {

StageChunks::StageChunks(const Program& program) {
  const std::vector<int> stages = stages_of_blocks(program);
  of_block = chunks_of_blocks(stages);
  count = of_block.empty() ? 1 : of_block.back() + 1;
  is_v = program.stages > 1 && count == 2 * program.stages - 1;
  for (std::size_t block = 0; block < stages.size(); ++block) {
    const int chunk = of_block[block];
    in_turn &= stages[block] == chunk % program.stages;
    is_v &= stages[block] == std::min(chunk, count - 1 - chunk);
  }
  in_turn &= count % program.stages == 0;
}

int StageChunks::of(const Op& op, bool behind_blocks) const {
  if (op.layer < 0) return behind_blocks == (op.phase == Phase::forward) ? count - 1 : 0;
  const int chunk = of_block.at(static_cast<std::size_t>(op.layer));
  if (!std::holds_alternative<PassOn>(op.kind)) return chunk;
  // It has the block that the rows come to, and the stage that they come from.
  return op.phase == Phase::forward ? chunk - 1 : chunk + 1;
}

OpsOfTasks::OpsOfTasks(Program& program, const StageChunks& chunks, bool weight_gradients_apart)
    : stages_(program.stages),
      micro_batches_(program.micro_batches),
      path_(chunks.path()),
      tasks_(static_cast<std::size_t>(chunks.count * program.micro_batches * 3)) {
  std::vector<bool> apart(program.ops.size(), false);
  if (weight_gradients_apart) apart = separate_weight_gradients(program);
  std::set<std::pair<int, Phase>> came_to_blocks;  // of micro-batches
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    // Of an embedding that is cut into parts, the second stands behind the first block's first part.
    const bool is_behind = op.phase == Phase::forward
                               ? op.layer + 1 == static_cast<int>(chunks.of_block.size())
                               : op.layer >= 0;
    if (is_behind) came_to_blocks.emplace(op.micro_batch, op.phase);
    const bool behind_blocks = came_to_blocks.contains({op.micro_batch, op.phase});
    const Pass pass = apart[i]                     ? Pass::weight_gradient
                      : op.phase == Phase::forward ? Pass::forward
                                                   : Pass::backward;
    Ops& where = comes_once(op) ? once_ : at(chunks.of(op, behind_blocks), pass, op.micro_batch);
    where.push_back(std::move(op));
  }
  program.ops.clear();
}

Ops OpsOfTasks::take(int stage, StageTask task) {
  const int chunk = place_of_chunk(stage, task.chunk, stages_, path_);
  return std::move(at(chunk, task.pass, task.micro_batch));
}

Ops OpsOfTasks::take_once() { return std::move(once_); }

Ops& OpsOfTasks::at(int chunk, Pass pass, int micro_batch) {
  return tasks_[static_cast<std::size_t>((chunk * micro_batches_ + micro_batch) * 3 +
                                         static_cast<int>(pass))];
}

}  // namespace moe
