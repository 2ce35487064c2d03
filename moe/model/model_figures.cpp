#include "moe/model/model_figures.h"

#include <numeric>

#include "moe/model/iteration.h"
#include "moe/program/even_routing.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"

namespace moe {
namespace {

/// The model with the smallest batch that has whole sequences and whole capacity groups: what is
/// counted is that of a token.
Model with_small_batch(Model model) {
  const std::int64_t parts = std::gcd(model.global_batch, std::int64_t{model.capacity_groups});
  model.global_batch /= parts;
  model.capacity_groups = static_cast<int>(model.capacity_groups / parts);
  model.micro_batches = 1;
  return model;
}

}  // namespace

ModelFigures figures_of(const Model& model) {
  const Model small = with_small_batch(model);
  const Groups groups = make_groups({});
  const Program program = build_iteration(small, groups, 0);
  ModelFigures figures;
  for (const Parameter& parameter : program.parameters) {
    if (!parameter.optimized) continue;
    const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
    const std::int64_t elements = tensor.rows * tensor.columns;
    figures.parameters += elements;
    figures.active_parameters +=
        belongs_to_experts(parameter) ? elements / model.experts * model.choices : elements;
  }
  const Binding binding = bind(program, even_routing(program, groups), groups, 0);
  for (const Op& op : program.ops) {
    if (op.phase != Phase::forward || facts_of(op).unit != CostUnit::flops) continue;
    figures.token_flops += 3 * work_of(program, op, binding, groups, 0).flops;
  }
  figures.token_flops /= static_cast<double>(small.global_batch * small.sequence_length);
  return figures;
}

}  // namespace moe
