#include "tuner/search/setup_memory.h"

#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/program/start_rule.h"
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

PeakParts peak_parts(const moe::Program& scheduled, const moe::Groups& groups,
                     std::span<const moe::Routing> routings) {
  const std::vector<moe::StageProgram> stages = moe::stage_programs(scheduled);
  PeakParts most;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    const moe::Program& program = stages[static_cast<std::size_t>(stage)].program;
    moe::MemoryPlan plan(program, moe::start_rule(program));
    for (const moe::Routing& routing : routings) {
      const moe::AllRoutedRows routed(scheduled, routing);
      const std::vector<int> ranks = ranks_of_most_memory(scheduled, groups, routed.layers());
      for (const int rank : first_of_alike(ranks, groups, routed.layers())) {
        if (moe::stage_of(groups, rank) != stage) continue;
        plan.restart();
        plan.advance({});
        if (!plan.is_complete()) plan.advance(routed.bind(groups, rank));
        const PeakParts parts = parts_of(program, plan);
        if (parts.all() > most.all()) most = parts;
      }
    }
  }
  return most;
}

}  // namespace tuner
