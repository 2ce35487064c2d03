#include "moe/model/iteration.h"

#include <string>
#include <utility>
#include <vector>

#include "moe/model/layer_builder.h"
#include "moe/model/layers/block.h"
#include "moe/model/layers/embedding.h"
#include "moe/model/layers/head.h"

namespace moe {
namespace {

/// One all-reduce per block and group, in the order in which backward completes them; what lies
/// outside the blocks last.
void reduce_gradients(LayerBuilder& build) {
  const auto reduce = [&](int block) {
    build.block = block;
    for (const GroupKind group : {GroupKind::world, GroupKind::data, GroupKind::expert_data}) {
      if (group_size(build.groups, group) < 2) continue;
      std::vector<TensorId> gradients;
      for (const Parameter& parameter : build.program().parameters) {
        if (parameter.layer == block && parameter.replicas == group) {
          gradients.push_back(parameter.gradient);
        }
      }
      if (!gradients.empty()) {
        build.op(AllReduce{group},
                 group == GroupKind::world  ? "all_reduce"
                 : group == GroupKind::data ? "all_reduce shared"
                                            : "all_reduce experts",
                 gradients, gradients);
      }
    }
  };
  for (int block = build.model.blocks - 1; block >= -1; --block) reduce(block);
}

void update_parameters(LayerBuilder& build) {
  const Model& model = build.model;
  Program& program = build.program();
  build.phase = Phase::update;
  build.block = -1;
  for (Parameter& parameter : program.parameters) {
    const std::string name = "update " + program.tensors[parameter.value].name;
    switch (model.optimizer) {
      case Optimizer::adam: {
        const TensorId first = build.state_like(parameter.value, "first_moment"),
                       second = build.state_like(parameter.value, "second_moment");
        parameter.optimizer_state = {first, second};
        build.op(AdamStep{model.learning_rate, 0.9, 0.999, 1e-8}, name,
                 {parameter.gradient, program.step, parameter.value, first, second},
                 {parameter.value, first, second});
        break;
      }
      case Optimizer::sgd: {
        const TensorId momentum = build.state_like(parameter.value, "momentum");
        parameter.optimizer_state = {momentum};
        build.op(SgdStep{model.learning_rate, model.momentum}, name,
                 {parameter.gradient, parameter.value, momentum}, {parameter.value, momentum});
        break;
      }
    }
  }
}

}  // namespace

Program build_iteration(const Model& model, const Groups& groups, int rank) {
  check(model, groups);
  LayerBuilder build(model, groups, rank);
  build.declare_inputs();
  std::vector<Layer> layers{embedding(build)};
  for (build.block = 0; build.block < model.blocks; ++build.block) {
    layers.push_back(block(build, layers.back().output));
  }
  build.block = -1;
  layers.push_back(head(build, layers.back().output));

  build.phase = Phase::backward;
  TensorId gradient = -1;
  for (int i = static_cast<int>(layers.size()) - 1; i >= 0; --i) {
    // Block b is layer b + 1, between the embedding and the head.
    build.block = i > model.blocks ? -1 : i - 1;
    gradient = layers[static_cast<std::size_t>(i)].backward(gradient);
  }
  reduce_gradients(build);
  update_parameters(build);
  Program program = std::move(build.program());
  validate(program);
  return program;
}

Program forward_only(Program program) {
  std::erase_if(program.ops, [](const Op& op) { return op.phase != Phase::forward; });
  return program;
}

}  // namespace moe
