#pragma once

#include <cstdint>
#include <vector>

#include "moe/memory/tensor_memory.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/binding.h"

namespace tuner {

/// The bytes of the arena in use from a time on, until the next entry of the list.
struct MemoryUse {
  double time_s = 0;
  std::int64_t bytes = 0;
};

/// The memory in use over time on ranks of one pipeline stage, one after the other.
class StageMemory {
 public:
  /// As memory_over_time. Refers to `stage`.
  StageMemory(const moe::Program& stage, const std::vector<int>& op_of);

  /// True where the sizes of some tensors depend on the routing, so that over_time needs a binding.
  bool depends_on_routing() const { return memory_.depends_on_routing(); }
  /// memory_over_time of a rank.
  std::vector<MemoryUse> over_time(const moe::Binding& binding,
                                   const std::vector<moe::OpSpan>& spans);

 private:
  const moe::Program& stage_;
  moe::StageTensorMemory memory_;
};

/// The memory in use in a rank's arena over a timeline, from time 0: all tensors that live over
/// iterations, and every activation from the start of the first op that uses it to the end of the
/// last one. `stage` is the Program of the rank's stage, op_of its places in the whole Program
/// (stage_program.h), `spans` those of the whole Program's ops on the rank. The memory in use never
/// exceeds planned_peak_bytes(), since the plan gives memory out only after its users have ended
/// (memory_plan.h); it is less where holes are left. Times ascend, each once.
std::vector<MemoryUse> memory_over_time(const moe::Program& stage, const std::vector<int>& op_of,
                                        const moe::Binding& binding,
                                        const std::vector<moe::OpSpan>& spans);

/// The first moment at which most memory is in use; {} for an empty list.
MemoryUse peak_of(const std::vector<MemoryUse>& uses);

}  // namespace tuner
