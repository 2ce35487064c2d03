#include "tuner/search/setup_memory.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "moe/memory/memory_plan.h"
#include "moe/rows/binding.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

PeakParts parts_of(const moe::Program& stage, const moe::MemoryPlan& plan) {
  PeakParts parts;
  for (const moe::Tensor& tensor : stage.tensors) {
    const auto add_to = [&](std::int64_t& sum) { sum += moe::allocated_bytes(tensor, {}); };
    if (tensor.role == moe::Role::parameter) add_to(parts.parameters);
    if (tensor.role == moe::Role::gradient) add_to(parts.gradients);
    if (tensor.role == moe::Role::optimizer_state) add_to(parts.optimizer);
  }
  parts.activations = plan.peak_bytes() - plan.activations_begin();
  parts.buffers = plan.activations_begin() - parts.parameters - parts.gradients - parts.optimizer;
  return parts;
}

}  // namespace

std::vector<PeakParts> stage_parts(const moe::Program& scheduled, const moe::Groups& groups,
                                   std::span<const moe::Routing> routings) {
  std::vector<PeakParts> most(static_cast<std::size_t>(scheduled.stages));
  plan_memory(scheduled, groups, routings,
              [&](int stage, const moe::Program& program, const moe::MemoryPlan& plan) {
                const PeakParts parts = parts_of(program, plan);
                if (parts.all() > most[stage].all()) most[stage] = parts;
              });
  return most;
}

PeakParts of_fullest(const std::vector<PeakParts>& stages) {
  return *std::ranges::max_element(stages, {}, &PeakParts::all);
}

std::vector<std::int64_t> bytes_of_whole_iteration(const moe::Program& scheduled) {
  std::set<std::pair<int, moe::Stream>> receiving;
  for (const moe::Op& op : scheduled.ops) {
    if (const auto* passes = std::get_if<moe::PassOn>(&op.kind)) {
      receiving.emplace(passes->to_stage, op.stream);
    }
  }
  std::vector<std::set<moe::TensorId>> stay(static_cast<std::size_t>(scheduled.stages));
  for (const moe::Op& op : scheduled.ops) {
    const bool is_sent_unseen = std::holds_alternative<moe::PassOn>(op.kind) &&
                                op.stream != moe::Stream::compute &&
                                !receiving.contains({op.stage, op.stream});
    for (const auto* const uses : {&op.reads, &op.writes}) {
      for (const moe::Use& use : *uses) {
        const moe::Role role = scheduled.tensors[use.tensor].role;
        const bool is_whole = role == moe::Role::input || role == moe::Role::result;
        const bool is_sent = is_sent_unseen && uses == &op.reads;
        if (is_whole || is_sent) stay[op.stage].insert(use.tensor);
      }
    }
  }
  std::vector<std::int64_t> bytes;
  for (const std::set<moe::TensorId>& of_stage : stay) {
    std::int64_t& sum = bytes.emplace_back();
    for (const moe::TensorId tensor : of_stage) {
      sum += moe::allocated_bytes(scheduled.tensors[tensor], {});
    }
  }
  return bytes;
}

}  // namespace tuner
