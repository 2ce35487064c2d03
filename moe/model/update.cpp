#include "moe/model/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace moe {
namespace {

/// The gradients of a block in a stage by their copies, blocks in the order in which backward
/// completes them; those outside the blocks come last.
void add_squares_of_block(LayerBuilder& build, std::vector<TensorId>& sums) {
  const Program& program = build.program();
  std::map<int, std::vector<TensorId>> gradients;  // by copies
  for (const Parameter& parameter : program.parameters) {
    if (parameter.layer == build.block && parameter.stage == build.stage && parameter.optimized &&
        !parameter.is_copy) {
      gradients[copies_in_stage(program, parameter)].push_back(parameter.gradient);
    }
  }
  for (const auto& [copies, of_block] : gradients) {
    std::int64_t blocks = 0;
    for (const TensorId gradient : of_block) {
      const Tensor& tensor = program.tensors[gradient];
      blocks += SumSquares::blocks_of(tensor.rows * tensor.columns);
    }
    const std::string part =
        build.block < 0 ? fmt::format("stage{}", build.stage) : fmt::format("block{}", build.block);
    const std::string name = fmt::format("gradient_squares.{}.of_{}", part, copies);
    sums.push_back(build.wide(name, blocks, 1));
    build.op(SumSquares{1.0 / copies}, "sum squares", of_block, {sums.back()});
  }
}

/// Adds up the gradients of a parameter that two stages have.
void reduce_tied(LayerBuilder& build) {
  const Program& program = build.program();
  for (const Parameter& copy : program.parameters) {
    if (!copy.is_copy) continue;
    const std::string& name = program.tensors[copy.value].name;
    const auto first = std::ranges::find_if(program.parameters, [&](const Parameter& one) {
      return program.tensors[one.value].name == name;
    });
    build.block = -1;
    build.stage = first->stage;
    const std::vector<TensorId> gradients{first->gradient, copy.gradient};
    build.op(ReduceTied{copy.stage}, "all_reduce " + name, gradients, gradients);
  }
}

/// Adds the ops that work out the norm of all gradients, and returns the factor that clips them,
/// by stage.
std::vector<TensorId> clip_gradients(LayerBuilder& build, double largest_norm) {
  const int stages = build.groups.layout.pipeline;
  std::vector<TensorId> squares, factors;
  for (build.stage = 0; build.stage < stages; ++build.stage) {
    std::vector<TensorId> sums;
    for (build.block = build.model.blocks - 1; build.block >= -1; --build.block) {
      add_squares_of_block(build, sums);
    }
    build.block = -1;
    squares.push_back(build.wide(fmt::format("gradient_squares.stage{}", build.stage), 1, 1));
    build.op(AddSquares{}, "add squares", sums, {squares.back()});
  }
  build.stage = 0;
  if (build.groups.ranks > 1) build.op(ReduceNorm{}, "all_reduce norm", squares, squares);
  TensorId& limit = build.program().norm_limit;
  if (build.model.outlier_z_score) limit = build.wide_input("norm_limit");
  for (build.stage = 0; build.stage < stages; ++build.stage) {
    const TensorId norm = build.result(fmt::format("gradient_norm.stage{}", build.stage));
    factors.push_back(build.wide(fmt::format("clip_factor.stage{}", build.stage), 1, 1));
    build.program().gradient_norms.push_back(norm);
    std::vector<TensorId> reads{squares[build.stage]};
    if (limit >= 0) reads.push_back(limit);
    build.op(ClipFactor{largest_norm}, "clip factor", reads, {norm, factors.back()});
  }
  return factors;
}

/// Adds the optimizer's step for one parameter. `factor`: none where gradients are not clipped. A
/// parameter that is stored in fewer bits than it is updated in has one state more, what its master
/// has beyond it.
void add_step(LayerBuilder& build, Parameter& parameter, std::optional<TensorId> factor) {
  const Model& model = build.model;
  const TensorId value = parameter.value;
  const std::string name = "update " + build.program().tensors[value].name;
  const double decay = decays(parameter) ? weight_decay(model) : 0;
  const auto add = [&](const OpKind& kind) {
    std::vector<TensorId>& states = parameter.optimizer_state;
    auto& tensors = build.program().tensors;
    if (tensors[value].dtype != tensors[parameter.gradient].dtype) {
      parameter.remainder = build.state_like(value, "remainder");
      tensors[parameter.remainder].dtype = DType::remainder;
      states.push_back(parameter.remainder);
    }
    std::vector<TensorId> reads{parameter.gradient, build.program().step, value};
    reads.insert(reads.end(), states.begin(), states.end());
    if (factor) reads.push_back(*factor);
    std::vector<TensorId> writes{value};
    writes.insert(writes.end(), states.begin(), states.end());
    build.op(kind, name, reads, writes);
  };
  switch (model.optimizer) {
    case Optimizer::adam:
    case Optimizer::adamw:
      parameter.optimizer_state = {build.state_like(value, "first_moment"),
                                   build.state_like(value, "second_moment")};
      add(AdamStep{learning_rate(model), model.beta1, model.beta2, model.epsilon, decay});
      break;
    case Optimizer::sgd:
      parameter.optimizer_state = {build.state_like(value, "momentum")};
      add(SgdStep{learning_rate(model), model.momentum, decay, model.nesterov});
      break;
  }
}

/// The places of the optimized parameters, in the order in which their gradients are reduced: those
/// of the last block first, those outside the blocks last. So no step waits for gradients that
/// travel after its own.
std::vector<std::size_t> in_order_of_gradients(const Program& program) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (program.parameters[i].optimized) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return program.parameters[a].layer > program.parameters[b].layer;
  });
  return order;
}

}  // namespace

LearningRate learning_rate(const Model& model) {
  return {model.learning_rate, model.least_learning_rate, model.warmup_steps, model.decay_steps,
          model.learning_rate_schedule};
}

bool decays(const Parameter& parameter) { return parameter.shard.of_rows > 1; }

int copies_in_stage(const Program& program, const Parameter& parameter) {
  const Groups& groups = program.groups;
  const int replicas = group_size(groups, parameter.replicas);
  if (is_cut(program, parameter) || parameter.replicas == GroupKind::stage) return replicas;
  return replicas * group_size(groups, sharers_of(parameter));
}

void update_parameters(LayerBuilder& build) {
  build.phase = Phase::update;
  build.block = -1;
  for (const LayerBuilder::Update& update : build.updates) {
    build.stage = update.stage;
    update.add_ops();
  }
  reduce_tied(build);
  std::vector<TensorId> factors;
  if (build.model.clip_norm) factors = clip_gradients(build, *build.model.clip_norm);
  build.block = -1;
  for (const std::size_t place : in_order_of_gradients(build.program())) {
    Parameter& parameter = build.program().parameters[place];
    build.stage = parameter.stage;
    add_step(build, parameter,
             factors.empty() ? std::nullopt : std::optional(factors[parameter.stage]));
  }
}

}  // namespace moe
