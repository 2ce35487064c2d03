#include "moe/model/iteration.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/model/layer_builder.h"
#include "moe/model/layers/block.h"
#include "moe/model/layers/embedding.h"
#include "moe/model/layers/head.h"
#include "moe/model/micro_batches.h"
#include "moe/model/update.h"
#include "moe/program/pass_between_stages.h"

namespace moe {
namespace {

const char* all_reduce_name(GroupKind group) {
  switch (group) {
    case GroupKind::stage:
      return "all_reduce";
    case GroupKind::data:
      return "all_reduce shared";
    case GroupKind::expert_data:
      return "all_reduce experts";
    default:
      throw std::logic_error("all_reduce_name: nothing is copied there");
  }
}

/// Adds one all-reduce per block, stage and group, in the order in which backward completes the
/// gradients; those of parameters outside the blocks come last.
void reduce_gradients(LayerBuilder& build) {
  const int stages = build.groups.layout.pipeline;
  for (build.block = build.model.blocks - 1; build.block >= -1; --build.block) {
    for (build.stage = stages - 1; build.stage >= 0; --build.stage) {
      for (const GroupKind group : {GroupKind::stage, GroupKind::data, GroupKind::expert_data}) {
        if (group_size(build.groups, group) < 2) continue;
        std::vector<TensorId> gradients;
        for (const Parameter& parameter : build.program().parameters) {
          if (parameter.layer == build.block && parameter.stage == build.stage &&
              parameter.replicas == group && parameter.optimized) {
            gradients.push_back(parameter.gradient);
          }
        }
        if (gradients.empty()) continue;
        build.op(AllReduce{group}, all_reduce_name(group), gradients, gradients);
      }
    }
  }
}

}  // namespace

int stage_of_block(int block, int blocks, int stages) {
  return static_cast<int>(std::int64_t{block} * stages / blocks);
}

Program build_iteration(const Model& model, const Groups& groups, int rank) {
  check(model, groups);
  const int stages = groups.layout.pipeline;
  LayerBuilder build(model, groups, rank);
  build.program().groups = groups;
  build.declare_inputs();
  build.program().stages = stages;
  std::vector<Layer> layers{embedding(build)};
  for (build.block = 0; build.block < model.blocks; ++build.block) {
    build.stage = stage_of_block(build.block, model.blocks, stages);
    layers.push_back(block(build, layers.back().output));
  }
  build.block = -1;
  layers.push_back(head(build, layers.back().output));
  for (const LayerBuilder::Late& late : build.late) {
    build.block = late.block;
    build.stage = late.stage;
    late.add_ops();
  }
  build.block = -1;
  build.stage = stages - 1;

  build.phase = Phase::backward;
  TensorId gradient = -1;
  for (int i = static_cast<int>(layers.size()) - 1; i >= 0; --i) {
    // Block b is layer b + 1, between the embedding and the head.
    build.block = i > model.blocks ? -1 : i - 1;
    if (build.block >= 0) build.stage = stage_of_block(build.block, model.blocks, stages);
    gradient = layers[i].backward(gradient);
  }
  pass_between_stages(build.program());
  repeat_for_micro_batches(build.program(), model.micro_batches);
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

Program without_noise(Program program) {
  for (Op& op : program.ops) {
    if (auto* noise = std::get_if<AddNoise>(&op.kind)) noise->quiet = true;
    if (auto* balance = std::get_if<BalanceRanking>(&op.kind)) balance->rounds = 0;
    if (auto* jitter = std::get_if<Jitter>(&op.kind)) jitter->epsilon = 0;
  }
  return program;
}

Program with_even_routing(Program program) {
  for (Op& op : program.ops) {
    if (auto* select = std::get_if<SelectExperts>(&op.kind)) select->in_turn = true;
  }
  return program;
}

}  // namespace moe
