#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/binding.h"

namespace tuner {

/// Bytes of the arena that are in use from a time on, until the next of its list.
struct MemoryUse {
  double time_s = 0;
  std::int64_t bytes = 0;
};

/// What a rank's arena holds over a timeline, from time 0: all that lives over iterations, and every
/// activation from the start of the first op that uses it to the end of the last. `stage`: the Program
/// of the rank's stage, op_of its places in the whole (stage_program.h); `spans` of the whole Program's
/// ops on the rank. The plan never gives out memory before its users are known to have ended
/// (memory_plan.h), so what is in use is never more than planned_peak_bytes(), and less where
/// neighbours in time left holes. Ascending times, no two alike.
std::vector<MemoryUse> memory_over_time(const moe::Program& stage, const std::vector<int>& op_of,
                                        const moe::Binding& binding,
                                        const std::vector<moe::OpSpan>& spans);

/// The first moment at which most is in use; {} of an empty list.
MemoryUse peak_of(const std::vector<MemoryUse>& uses);

}  // namespace tuner
