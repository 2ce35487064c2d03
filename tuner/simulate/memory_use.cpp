#include "tuner/simulate/memory_use.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tuner {
namespace {

const moe::OpSpan& span_of_op(const std::vector<moe::OpSpan>& spans, int op) {
  return *std::ranges::lower_bound(spans, op, {}, &moe::OpSpan::op);
}

}  // namespace

StageMemory::StageMemory(const moe::Program& stage, const std::vector<int>& op_of)
    : plan_(stage, moe::start_rule(stage)) {
  std::map<moe::TensorId, std::vector<int>> users;
  for (std::size_t op = 0; op < stage.ops.size(); ++op) {
    for (const auto* uses : {&stage.ops[op].reads, &stage.ops[op].writes}) {
      for (const moe::Use& use : *uses) {
        const moe::Tensor& tensor = stage.tensors[use.tensor];
        if (!moe::lives_within_iteration(tensor.role) || tensor.pool != moe::Pool::device) continue;
        users[use.tensor].push_back(op_of[op]);
        depends_on_routing_ |= tensor.rows_are != moe::Rows::fixed && tensor.rows == 0;
      }
    }
  }
  for (auto& [tensor, ops] : users) {
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    planned_.push_back({tensor, 0, std::move(ops)});
  }
}

std::vector<MemoryUse> StageMemory::over_time(const moe::Binding& binding,
                                              const std::vector<moe::OpSpan>& spans) {
  if (depends_on_routing_ || !plan_.is_complete()) {
    plan_.restart();
    plan_.advance(binding);
    for (Planned& one : planned_) one.bytes = plan_.end(one.tensor) - plan_.offset(one.tensor);
  }
  std::vector<std::pair<double, std::int64_t>> changes{{0, plan_.activations_begin()}};
  for (const Planned& one : planned_) {
    double begin_s = std::numeric_limits<double>::infinity(), end_s = 0;
    for (const int op : one.ops) {
      const moe::OpSpan& span = span_of_op(spans, op);
      begin_s = std::min(begin_s, span.start_s);
      end_s = std::max(end_s, span.start_s + span.duration_s);
    }
    changes.emplace_back(begin_s, one.bytes);
    changes.emplace_back(end_s, -one.bytes);
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
