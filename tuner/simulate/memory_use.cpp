#include "tuner/simulate/memory_use.h"

#include <algorithm>
#include <utility>

namespace tuner {

StageMemory::StageMemory(const moe::Program& stage, const std::vector<int>& op_of)
    : stage_(stage), memory_(stage, op_of) {}

std::vector<MemoryUse> StageMemory::over_time(const moe::Binding& binding,
                                              const std::vector<moe::OpSpan>& spans) {
  std::vector<std::pair<double, std::int64_t>> changes{{0, memory_.persistent_bytes()}};
  for (const moe::TensorMemory& of : memory_.of_rank(binding, spans)) {
    if (of.first_op < 0 || stage_.tensors[of.tensor].pool != moe::Pool::device) continue;
    changes.emplace_back(of.begin_s, of.bytes);
    changes.emplace_back(of.end_s, -of.bytes);
  }
  std::ranges::sort(changes, {}, &std::pair<double, std::int64_t>::first);
  std::vector<MemoryUse> uses;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const double time_s = changes[i].first;
    std::int64_t change = 0;
    for (; i < changes.size() && changes[i].first == time_s; ++i) change += changes[i].second;
    bytes += change;
    if (uses.empty() || change != 0) uses.push_back({time_s, bytes});
  }
  return uses;
}

std::vector<MemoryUse> memory_over_time(const moe::Program& stage, const std::vector<int>& op_of,
                                        const moe::Binding& binding,
                                        const std::vector<moe::OpSpan>& spans) {
  return StageMemory(stage, op_of).over_time(binding, spans);
}

MemoryUse peak_of(const std::vector<MemoryUse>& uses) {
  MemoryUse peak;
  for (const MemoryUse& use : uses) {
    if (use.bytes > peak.bytes) peak = use;
  }
  return peak;
}

}  // namespace tuner
