#include "moe/model/iteration_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace moe {
namespace {

constexpr double kInitialDeviation = 0.02;

bool has_experts(const Model& model, int block) {
  return model.moe_every > 0 && (block + 1) % model.moe_every == 0;
}

}  // namespace

IterationBuilder::IterationBuilder(const Model& model, const Groups& groups, int rank)
    : model_(model),
      groups_(groups),
      rank_(rank),
      tokens_(model.global_batch / groups.ranks * model.sequence_length),
      global_tokens_(model.global_batch * model.sequence_length),
      build_(model.dtype) {}

Program IterationBuilder::iteration() {
  declare();
  forward();
  backward();
  reduce_gradients();
  update();
  Program program = std::move(build_.program);
  validate(program);
  return program;
}

TensorId IterationBuilder::weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                                  double deviation) {
  return build_.parameter({name, rows, columns, Initial::normal, deviation, 0, false});
}

TensorId IterationBuilder::bias(const std::string& name, std::int64_t columns) {
  return build_.parameter({name, 1, columns, Initial::zero, 0, 0, false});
}

TensorId IterationBuilder::expert_parameter(const std::string& name, std::int64_t rows,
                                            std::int64_t columns, double deviation) {
  const std::int64_t local = model_.experts / groups_.expert_ranks;
  const std::int64_t first =
      local * index_in_group(groups_, GroupKind::expert, rank_) * rows * columns;
  return build_.parameter({name, local * rows, columns,
                           deviation > 0 ? Initial::normal : Initial::zero, deviation, first,
                           true});
}

IterationBuilder::NormParameters IterationBuilder::norm(const std::string& name) {
  return {build_.parameter({name + ".scale", 1, model_.d_model, Initial::one, 0, 0, false}),
          bias(name + ".shift", model_.d_model)};
}

void IterationBuilder::declare() {
  Program& program = build_.program;
  const std::int64_t m = model_.d_model, h = model_.d_hidden;
  program.tokens = build_.input("tokens", tokens_);
  program.targets = build_.input("targets", tokens_);
  program.step = build_.input("step", 1);
  program.loss = build_.result("loss");
  token_table_ = weight("token_table", model_.vocabulary, m, kInitialDeviation);
  position_table_ = weight("position_table", model_.sequence_length, m, kInitialDeviation);
  // Layers that write into the residual stream start smaller, so that its variance does not grow
  // with depth.
  const double residual = kInitialDeviation / std::sqrt(2.0 * model_.blocks);
  for (int i = 0; i < model_.blocks; ++i) {
    const std::string name = fmt::format("block{}.", i);
    BlockParameters block;
    block.norm1 = norm(name + "norm1");
    block.qkv = weight(name + "attention.qkv.weight", m, 3 * m, kInitialDeviation);
    block.qkv_bias = bias(name + "attention.qkv.bias", 3 * m);
    block.output = weight(name + "attention.output.weight", m, m, residual);
    block.output_bias = bias(name + "attention.output.bias", m);
    block.norm2 = norm(name + "norm2");
    if (has_experts(model_, i)) {
      block.gate = weight(name + "gate.weight", m, model_.experts, kInitialDeviation);
      block.up = expert_parameter(name + "experts.up.weight", m, h, kInitialDeviation);
      block.up_bias = expert_parameter(name + "experts.up.bias", 1, h, 0);
      block.down = expert_parameter(name + "experts.down.weight", h, m, residual);
      block.down_bias = expert_parameter(name + "experts.down.bias", 1, m, 0);
    } else {
      block.up = weight(name + "ffn.up.weight", m, h, kInitialDeviation);
      block.up_bias = bias(name + "ffn.up.bias", h);
      block.down = weight(name + "ffn.down.weight", h, m, residual);
      block.down_bias = bias(name + "ffn.down.bias", m);
    }
    parameters_.push_back(block);
  }
  final_norm_ = norm("final_norm");
  head_ = weight("head.weight", m, model_.vocabulary, kInitialDeviation);
}

TensorId IterationBuilder::activation(const std::string& name, std::int64_t columns) {
  return build_.activation(label(name), tokens_, columns);
}

TensorId IterationBuilder::integers(const std::string& name, std::int64_t rows,
                                    std::int64_t columns) {
  return build_.activation(label(name), rows, columns, DType::i32);
}

TensorId IterationBuilder::routed(const std::string& name, Rows rows_are, std::int64_t columns) {
  const auto copies = capacity();
  const std::int64_t sent =
      copies ? *copies * groups_of_rank() * model_.experts : 0;  // received: as much, from everyone
  return build_.routed(label(name), rows_are, sent, columns, layer_);
}

std::string IterationBuilder::label(const std::string& name) const {
  return layer_ < 0 ? name : fmt::format("block{}.{}", layer_, name);
}

TensorId IterationBuilder::gradient(TensorId parameter) const {
  return build_.gradient_of(parameter);
}

void IterationBuilder::op(OpKind kind, std::string name, std::vector<TensorId> reads,
                          std::vector<TensorId> writes) {
  build_.op(std::move(kind), std::move(name), std::move(reads), std::move(writes), layer_, phase_);
}

int IterationBuilder::capacity_groups() const {
  return model_.capacity_groups > 0 ? model_.capacity_groups : groups_.ranks;
}

std::optional<std::int64_t> IterationBuilder::capacity() const {
  if (!model_.capacity_factor) return std::nullopt;
  const std::int64_t group_tokens = global_tokens_ / capacity_groups();
  const double copies = model_.choices * *model_.capacity_factor *
                        static_cast<double>(group_tokens) / static_cast<double>(model_.experts);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(copies)));
}

int IterationBuilder::groups_of_rank() const { return capacity_groups() / groups_.ranks; }

int IterationBuilder::local_experts() const { return model_.experts / groups_.expert_ranks; }

void IterationBuilder::reduce_gradients() {
  phase_ = Phase::backward;
  const auto reduce = [&](const std::string& prefix, int layer) {
    layer_ = layer;
    for (const GroupKind group : {GroupKind::world, GroupKind::expert_data}) {
      if (members(groups_, group, rank_).size() < 2) continue;
      std::vector<TensorId> gradients;
      for (const Parameter& parameter : build_.program.parameters) {
        const std::string& name = build_.program.tensors[parameter.value].name;
        const bool of_block = name.starts_with("block");
        const bool wanted = prefix.empty() ? !of_block : name.starts_with(prefix);
        if (wanted && parameter.expert == (group == GroupKind::expert_data))
          gradients.push_back(parameter.gradient);
      }
      if (!gradients.empty())
        op(AllReduce{group}, group == GroupKind::world ? "all_reduce" : "all_reduce experts",
           gradients, gradients);
    }
  };
  for (int block = model_.blocks - 1; block >= 0; --block)
    reduce(fmt::format("block{}.", block), block);
  reduce("", -1);
  layer_ = -1;
}

void IterationBuilder::update() {
  phase_ = Phase::update;
  layer_ = -1;
  Program& program = build_.program;
  for (Parameter& parameter : program.parameters) {
    const std::string name = program.tensors[parameter.value].name;
    if (model_.optimizer == Optimizer::adam) {
      parameter.optimizer_state = {build_.state_like(parameter.value, "first_moment"),
                                   build_.state_like(parameter.value, "second_moment")};
      op(AdamStep{model_.learning_rate, 0.9, 0.999, 1e-8}, "update " + name,
         {parameter.gradient, program.step},
         {parameter.value, parameter.optimizer_state[0], parameter.optimizer_state[1]});
    } else {
      parameter.optimizer_state = {build_.state_like(parameter.value, "momentum")};
      op(SgdStep{model_.learning_rate, model_.momentum}, "update " + name, {parameter.gradient},
         {parameter.value, parameter.optimizer_state[0]});
    }
  }
}

}  // namespace moe
