#include "tuner/search/setup_memory.h"

#include <algorithm>

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

}  // namespace tuner
