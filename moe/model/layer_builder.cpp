#include "moe/model/layer_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "db/experts_in_order.h"
#include "moe/model/capacity.h"
#include "moe/model/capacity_groups.h"
#include "moe/model/gates/gates.h"

namespace moe {
namespace {

/// The index-th of `parts` equal parts of a shard.
Shard cut(Shard shard, Sharded sharded, int index, int parts) {
  switch (sharded) {
    case Sharded::not_at_all:
      break;
    case Sharded::by_rows:
      shard.block_rows /= parts;
      shard.first_row = index * shard.block_rows;
      break;
    case Sharded::by_columns:
      shard.first_column = index * (shard.of_columns / parts);
      break;
  }
  return shard;
}

std::int64_t columns_held(const Shard& shard, Sharded sharded, int parts) {
  return sharded == Sharded::by_columns ? shard.of_columns / parts : shard.of_columns;
}

}  // namespace

LayerBuilder::LayerBuilder(const Model& model, const Groups& groups, int rank)
    : model(model),
      groups(groups),
      rank(rank),
      tokens(model.global_batch / model.micro_batches * model.sequence_length /
             stage_ranks(groups)),
      global_tokens(model.global_batch / model.micro_batches * model.sequence_length),
      batch_tokens(model.global_batch * model.sequence_length),
      auxiliary_weight(model.auxiliary_weight / model.micro_batches),
      build_(model.dtype) {}

void LayerBuilder::declare_inputs() {
  Program& program = build_.program;
  program.tokens = {build_.input("tokens", tokens)};
  program.targets = {build_.input("targets", tokens)};
  program.step = build_.input("step", 1);
  program.losses = {build_.result("loss")};
}

TensorId LayerBuilder::weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                              double standard_deviation) {
  return build_.parameter({label(name), rows, columns, Initial::normal, standard_deviation, block,
                           stage, GroupKind::stage});
}

TensorId LayerBuilder::bias(const std::string& name, std::int64_t columns) {
  return build_.parameter(
      {label(name), 1, columns, Initial::zero, 0, block, stage, GroupKind::stage});
}

TensorId LayerBuilder::scale(const std::string& name, std::int64_t columns) {
  return build_.parameter(
      {label(name), 1, columns, Initial::one, 0, block, stage, GroupKind::stage});
}

TensorId LayerBuilder::adjusted(const std::string& name, std::int64_t columns) {
  ProgramBuilder::ParameterShape shape{label(name), 1, columns, Initial::zero, 0, block, stage};
  shape.optimized = false;
  shape.wide = true;
  return build_.parameter(shape);
}

TensorId LayerBuilder::wide_parameter(const std::string& name, std::int64_t rows,
                                      std::int64_t columns, Initial initial,
                                      double standard_deviation) {
  ProgramBuilder::ParameterShape shape{label(name),        rows,  columns, initial,
                                       standard_deviation, block, stage};
  shape.wide = true;
  return build_.parameter(shape);
}

TensorId LayerBuilder::shared_parameter(const std::string& name, std::int64_t rows,
                                        std::int64_t columns, Sharded sharded,
                                        const std::vector<std::int64_t>& column_groups,
                                        Initial initial, double standard_deviation) {
  const Shard whole{0, rows, 0, rows, 0, columns, column_groups};
  const Shard shard =
      cut(whole, sharded, index_in_group(groups, GroupKind::tensor, rank), tensor_ranks());
  return build_.parameter({label(name), shard.block_rows,
                           columns_held(shard, sharded, tensor_ranks()), initial,
                           standard_deviation, block, stage, GroupKind::data, shard});
}

TensorId LayerBuilder::shared_weight(const std::string& name, std::int64_t rows,
                                     std::int64_t columns, Sharded sharded,
                                     double standard_deviation,
                                     const std::vector<std::int64_t>& column_groups) {
  return shared_parameter(name, rows, columns, sharded, column_groups, Initial::normal,
                          standard_deviation);
}

TensorId LayerBuilder::shared_bias(const std::string& name, std::int64_t columns, Sharded sharded,
                                   const std::vector<std::int64_t>& column_groups) {
  return shared_parameter(name, 1, columns, sharded, column_groups, Initial::zero, 0);
}

TensorId LayerBuilder::expert_parameter(const std::string& name, std::int64_t rows,
                                        std::int64_t columns, Sharded sharded, Initial initial,
                                        double standard_deviation) {
  const db::ExpertsInOrder in_order{model.experts, groups.layout.expert};
  const int member = index_in_group(groups, GroupKind::expert, rank);
  Shard whole{in_order.first_of(member), rows, 0, rows, 0, columns};
  whole.empty_blocks = in_order.most() - in_order.held_by(member);
  const Shard shard =
      cut(whole, sharded, index_in_group(groups, GroupKind::expert_sharded, rank), sharing_ranks());
  return build_.parameter({label(name), local_experts() * shard.block_rows,
                           columns_held(shard, sharded, sharing_ranks()), initial,
                           standard_deviation, block, stage, GroupKind::expert_data, shard});
}

TensorId LayerBuilder::expert_weight(const std::string& name, std::int64_t rows,
                                     std::int64_t columns, Sharded sharded,
                                     double standard_deviation) {
  return expert_parameter(name, rows, columns, sharded, Initial::normal, standard_deviation);
}

TensorId LayerBuilder::expert_bias(const std::string& name, std::int64_t columns, Sharded sharded) {
  return expert_parameter(name, 1, columns, sharded, Initial::zero, 0);
}

TensorId LayerBuilder::gradient(TensorId parameter) const { return build_.gradient_of(parameter); }

TensorId LayerBuilder::state_like(TensorId parameter, const std::string& name) {
  return build_.state_like(parameter, name);
}

TensorId LayerBuilder::activation(const std::string& name, std::int64_t columns) {
  return activation(name, tokens, columns);
}

TensorId LayerBuilder::activation(const std::string& name, std::int64_t rows,
                                  std::int64_t columns) {
  return build_.activation(label(name), rows, columns);
}

TensorId LayerBuilder::wide(const std::string& name, std::int64_t columns) {
  return wide(name, tokens, columns);
}

TensorId LayerBuilder::wide(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return build_.wide(label(name), rows, columns);
}

TensorId LayerBuilder::integers(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return build_.integers(label(name), rows, columns);
}

TensorId LayerBuilder::routed(const std::string& name, Rows rows_are, std::int64_t columns) {
  std::int64_t rows = 0;
  if (const auto copies = capacity()) {
    const int groups_here = capacity_groups_of_rank();
    const std::int64_t padded = rows_per_pair() * model.experts;
    const std::int64_t received =
        pads_rows() ? rows_per_pair() * local_experts() * groups.layout.expert
                    : most_rows_received(*copies, groups_here, model.experts, most_choices(),
                                         tokens, groups.layout.expert);
    switch (rows_are) {
      case Rows::fixed:
      case Rows::relayed:
      case Rows::leader_sent:
      case Rows::leader_received:
        throw std::logic_error("routed: " + name + " has no rows that a layer knows");
      case Rows::sent:
        rows = pads_rows()
                   ? padded
                   : most_rows_sent(*copies, groups_here, model.experts, most_choices(), tokens);
        break;
      case Rows::received:
        rows = received;
        break;
      case Rows::gathered:
        rows = received * sharing_ranks();
        break;
    }
  }
  const TensorId tensor = build_.routed(label(name), rows_are, rows, columns, block);
  build_.program.tensors[tensor].rows_per_pair = rows_per_pair();
  return tensor;
}

TensorId LayerBuilder::like(const std::string& name, TensorId x) {
  const Tensor& tensor = build_.program.tensors[x];
  return tensor.rows_are == Rows::fixed ? activation(name, tensor.rows, tensor.columns)
                                        : routed(name, tensor.rows_are, tensor.columns);
}

TensorId LayerBuilder::result(const std::string& name) { return build_.result(label(name)); }

TensorId LayerBuilder::wide_input(const std::string& name) {
  return build_.wide_input(label(name));
}

TensorId LayerBuilder::narrowed(const std::string& name, TensorId x) {
  if (!narrows()) return x;
  const Tensor& wide_tensor = build_.program.tensors[x];
  const TensorId y = activation(name + ".narrowed", wide_tensor.rows, wide_tensor.columns);
  op(Narrow{}, "narrow " + name, {x}, {y});
  return y;
}

void LayerBuilder::op(OpKind kind, const std::string& name, std::vector<TensorId> reads,
                      std::vector<TensorId> writes, Stream stream) {
  build_.op(std::move(kind), name, std::move(reads), std::move(writes), block, phase);
  build_.program.ops.back().stream = stream;
  build_.program.ops.back().stage = stage;
}

std::int64_t LayerBuilder::first_token() const { return rank_in_stage(groups, rank) * tokens; }

std::int64_t LayerBuilder::first_id() const {
  if (!shards_vocabulary()) return 0;
  return model.vocabulary / tensor_ranks() * index_in_group(groups, GroupKind::tensor, rank);
}

int LayerBuilder::local_experts() const {
  return db::ExpertsInOrder{model.experts, groups.layout.expert}.most();
}

std::optional<std::int64_t> LayerBuilder::capacity() const {
  if (!model.capacity_factor) return std::nullopt;
  const std::int64_t group_tokens = batch_tokens / capacity_groups(model, groups.layout);
  return expert_capacity(model.choices, *model.capacity_factor, group_tokens, model.experts);
}

int LayerBuilder::capacity_groups_of_rank() const {
  return capacity_groups(model, groups.layout) / stage_ranks(groups) / model.micro_batches;
}

std::int64_t LayerBuilder::rows_per_pair() const {
  return capacity().value_or(0) * capacity_groups_of_rank();
}

Draw LayerBuilder::draw() const { return {model.seed, block, first_token(), global_tokens}; }

int LayerBuilder::most_choices() const {
  return gate_named(model.gate).facts.chooser == Chooser::token ? model.choices : model.experts;
}

double LayerBuilder::residual_deviation() const {
  return kInitialDeviation / std::sqrt(2.0 * model.blocks);
}

std::string LayerBuilder::label(const std::string& name) const {
  return block < 0 ? name : fmt::format("block{}.{}", block, name);
}

}  // namespace moe
