#include "moe/model/layers/linear.h"

namespace moe {

Layer linear(LayerBuilder& build, const LinearShape& shape, TensorId x) {
  const std::int64_t rows = build.program().tensors[x].rows;
  const int parts = build.tensor_ranks();
  const Sharded sharded = parts > 1 ? shape.sharded : Sharded::not_at_all;
  const bool by_columns = sharded == Sharded::by_columns, by_rows = sharded == Sharded::by_rows;
  const std::int64_t inputs = by_rows ? shape.inputs / parts : shape.inputs;
  const std::int64_t outputs = by_columns ? shape.outputs / parts : shape.outputs;
  const std::string weight_name = shape.parameter + ".weight",
                    bias_name = shape.parameter + ".bias";
  const TensorId weight =
      sharded == Sharded::not_at_all
          ? build.weight(weight_name, shape.inputs, shape.outputs, shape.standard_deviation)
          : build.shared_weight(weight_name, shape.inputs, shape.outputs, sharded,
                                shape.standard_deviation, shape.column_groups);
  std::vector<TensorId> parameters{weight};
  if (shape.bias) {
    // Where partial results are added up, every rank has the whole bias and adds its share of it.
    const Sharded cut = by_columns ? Sharded::by_columns : Sharded::not_at_all;
    parameters.push_back(
        sharded == Sharded::not_at_all
            ? build.bias(bias_name, shape.outputs)
            : build.shared_bias(bias_name, shape.outputs, cut, shape.column_groups));
  }
  std::vector<TensorId> reads{x};
  reads.insert(reads.end(), parameters.begin(), parameters.end());
  const TensorId y = shape.wide_output ? build.wide(shape.parameter, rows, outputs)
                                       : build.activation(shape.parameter, rows, outputs);
  build.op(Linear{by_rows ? 1.0 / parts : 1.0}, shape.name, reads, {y});

  const auto backward = [=, &build](TensorId d_output) {
    const TensorId dy =
        shape.wide_output ? build.narrowed("d_" + shape.parameter, d_output) : d_output;
    const TensorId dx = build.activation("d_input." + shape.parameter, rows, inputs);
    build.op(LinearInputGradient{}, shape.name + " dX", {dy, weight}, {dx});
    std::vector<TensorId> gradients;
    for (const TensorId parameter : parameters) gradients.push_back(build.gradient(parameter));
    build.op(LinearWeightGradient{}, shape.name + " dW", {x, dy}, gradients);
    return dx;
  };
  return {y, backward};
}

TensorId gather_tokens(LayerBuilder& build, TensorId x, const std::string& name) {
  if (build.tensor_ranks() == 1) return x;
  const std::int64_t width = build.program().tensors[x].columns;
  const TensorId gathered =
      build.activation(name + ".gathered", build.tensor_ranks() * build.tokens, width);
  build.op(AllGather{}, "gather " + name, {x}, {gathered});
  return gathered;
}

TensorId sum_tokens(LayerBuilder& build, TensorId partial, const std::string& name) {
  if (build.tensor_ranks() == 1) return partial;
  const std::int64_t width = build.program().tensors[partial].columns;
  const TensorId sum = build.activation(name + ".summed", width);
  build.op(ReduceScatter{}, "sum " + name, {partial}, {sum});
  return sum;
}

TensorId add(LayerBuilder& build, const std::string& op_name, const std::string& tensor_name,
             TensorId a, TensorId b) {
  const TensorId sum = build.activation(tensor_name, build.model.d_model);
  build.op(Add{}, op_name, {a, b}, {sum});
  return sum;
}

TensorId scaled(LayerBuilder& build, const std::string& part, TensorId x, double factor) {
  if (factor == 1) return x;
  const TensorId y = build.like("scaled_" + part, x);
  build.op(Scale{factor}, part + " factor", {x}, {y});
  return y;
}

}  // namespace moe
