#include "moe/program/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace moe {
namespace {

std::vector<Use> whole(const std::vector<TensorId>& tensors) {
  std::vector<Use> uses;
  for (const TensorId tensor : tensors) uses.push_back({tensor, {}});
  return uses;
}

}  // namespace

TensorId ProgramBuilder::add(Tensor tensor) {
  program.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program.tensors.size()) - 1;
}

TensorId ProgramBuilder::parameter(const ParameterShape& shape) {
  const auto tensor = [&](const std::string& name, DType dtype, Role role) {
    return add({name, dtype, role, Rows::fixed, shape.rows, shape.columns, -1});
  };
  Parameter parameter;
  parameter.value = tensor(shape.name, shape.wide ? wide() : dtype_, Role::parameter);
  parameter.gradient = tensor("d_" + shape.name, wide(), Role::gradient);
  parameter.optimized = shape.optimized;
  parameter.initial = shape.initial;
  parameter.standard_deviation = shape.standard_deviation;
  parameter.shard = shape.shard.value_or(Shard{0, shape.rows, 0, shape.rows, 0, shape.columns});
  parameter.layer = shape.layer;
  parameter.stage = shape.stage;
  parameter.replicas = shape.replicas;
  program.parameters.push_back(parameter);
  return parameter.value;
}

TensorId ProgramBuilder::gradient_of(TensorId value) const {
  const auto it = std::find_if(program.parameters.begin(), program.parameters.end(),
                               [&](const Parameter& p) { return p.value == value; });
  if (it == program.parameters.end()) {
    throw std::logic_error(fmt::format("tensor {} is not a parameter", value));
  }
  return it->gradient;
}

TensorId ProgramBuilder::state_like(TensorId parameter, const std::string& name) {
  const Tensor& like = program.tensors[parameter];
  return add({like.name + "." + name, wide(), Role::optimizer_state, Rows::fixed, like.rows,
              like.columns, -1});
}

TensorId ProgramBuilder::input(const std::string& name, std::int64_t rows) {
  return add({name, DType::i32, Role::input, Rows::fixed, rows, 1, -1});
}

TensorId ProgramBuilder::wide_input(const std::string& name) {
  return add({name, wide(), Role::input, Rows::fixed, 1, 1, -1});
}

TensorId ProgramBuilder::result(const std::string& name) {
  return add({name, wide(), Role::result, Rows::fixed, 1, 1, -1});
}

TensorId ProgramBuilder::activation(const std::string& name, std::int64_t rows,
                                    std::int64_t columns) {
  return add({name, dtype_, Role::activation, Rows::fixed, rows, columns, -1});
}

TensorId ProgramBuilder::wide(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return add({name, wide(), Role::activation, Rows::fixed, rows, columns, -1});
}

TensorId ProgramBuilder::integers(const std::string& name, std::int64_t rows,
                                  std::int64_t columns) {
  return add({name, DType::i32, Role::activation, Rows::fixed, rows, columns, -1});
}

TensorId ProgramBuilder::routed(const std::string& name, Rows rows_are, std::int64_t rows,
                                std::int64_t columns, int layer) {
  return add({name, dtype_, Role::activation, rows_are, rows, columns, layer});
}

void ProgramBuilder::op(OpKind kind, std::string name, const std::vector<TensorId>& reads,
                        const std::vector<TensorId>& writes, int layer, Phase phase) {
  program.ops.push_back({std::move(kind), whole(reads), whole(writes), std::move(name), layer,
                         phase, Slice{}, Stream::compute});
}

}  // namespace moe
