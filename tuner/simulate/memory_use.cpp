#include "tuner/simulate/memory_use.h"

#include <algorithm>
#include <limits>
#include <map>

#include "moe/memory/memory_plan.h"

namespace tuner {
namespace {

/// From the start of its first op to the end of its last.
struct Life {
  double begin_s = std::numeric_limits<double>::infinity();
  double end_s = 0;
};

std::map<moe::TensorId, Life> lives(const moe::Program& stage, const std::vector<int>& op_of,
                                    const std::vector<moe::OpSpan>& spans) {
  std::map<int, moe::OpSpan> span_of;
  for (const moe::OpSpan& span : spans) span_of.emplace(span.op, span);
  std::map<moe::TensorId, Life> found;
  for (std::size_t op = 0; op < stage.ops.size(); ++op) {
    const moe::OpSpan& span = span_of.at(op_of[op]);
    for (const auto* uses : {&stage.ops[op].reads, &stage.ops[op].writes}) {
      for (const moe::Use& use : *uses) {
        const moe::Tensor& tensor = stage.tensors[use.tensor];
        const bool planned =
            tensor.role == moe::Role::activation || tensor.role == moe::Role::replica;
        if (!planned || tensor.pool != moe::Pool::device) continue;
        Life& life = found[use.tensor];
        life.begin_s = std::min(life.begin_s, span.start_s);
        life.end_s = std::max(life.end_s, span.start_s + span.duration_s);
      }
    }
  }
  return found;
}

}  // namespace

std::vector<MemoryUse> memory_over_time(const moe::Program& stage, const std::vector<int>& op_of,
                                        const moe::Binding& binding,
                                        const std::vector<moe::OpSpan>& spans) {
  moe::MemoryPlan plan(stage, moe::start_rule(stage));
  plan.advance(binding);
  std::map<double, std::int64_t> changes;
  changes[0] = plan.activations_begin();
  for (const auto& [tensor, life] : lives(stage, op_of, spans)) {
    const std::int64_t bytes = plan.end(tensor) - plan.offset(tensor);
    changes[life.begin_s] += bytes;
    changes[life.end_s] -= bytes;
  }
  std::vector<MemoryUse> uses;
  std::int64_t bytes = 0;
  for (const auto& [time_s, change] : changes) {
    bytes += change;
    if (uses.empty() || change != 0) uses.push_back({time_s, bytes});
  }
  return uses;
}

MemoryUse peak_of(const std::vector<MemoryUse>& uses) {
  MemoryUse peak;
  for (const MemoryUse& use : uses) {
    if (use.bytes > peak.bytes) peak = use;
  }
  return peak;
}

}  // namespace tuner
