#pragma once

#include <cstdint>
#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/binding.h"

namespace moe {

/// The memory that the plan gives a tensor on a rank, and when it is in use.
struct TensorMemory {
  TensorId tensor = 0;  ///< of the stage's Program
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  ///< with the padding
  /// Ops of the whole Program: of those that use the tensor the first to begin and the last to end;
  /// -1 where it lives over iterations. Then the times are 0.
  int first_op = -1, last_op = -1;
  double begin_s = 0, end_s = 0;
};

/// The memory of the tensors on ranks of one pipeline stage, one rank after the other.
class StageTensorMemory {
 public:
  /// `stage` is the Program of a stage, op_of its places in the whole Program (stage_program.h).
  /// Refers to `stage`.
  StageTensorMemory(const Program& stage, const std::vector<int>& op_of);

  /// True where the sizes of some tensors depend on the routing, so that of_rank needs a binding.
  bool depends_on_routing() const { return depends_on_routing_; }
  /// The bytes of tensors that live over iterations.
  std::int64_t persistent_bytes() const { return plan_.activations_begin(); }
  /// By tensor; those that lie in the memory of another (memory_owners.h) are left out, and their ops
  /// count as that one's. An activation is in use from the begin of the first op that uses it to the end of
  /// the last one; `spans` are those of the whole Program's ops on the rank, ordered by op.
  /// Activations none of whose ops has a span are left out.
  std::vector<TensorMemory> of_rank(const Binding& binding, const std::vector<OpSpan>& spans);

 private:
  const Program& stage_;
  MemoryPlan plan_;
  std::vector<TensorId> owners_;
  /// [tensor]: the ops of the whole Program that use it, ascending.
  std::vector<std::vector<int>> users_;
  bool depends_on_routing_ = false;
};

}  // namespace moe
