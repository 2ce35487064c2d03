#include "moe/model/layers/linear.h"

namespace moe {

Layer linear(LayerBuilder& build, const LinearShape& shape, TensorId x) {
  const TensorId weight = build.weight(shape.parameter + ".weight", shape.inputs, shape.outputs,
                                       shape.standard_deviation);
  std::vector<TensorId> parameters{weight};
  if (shape.bias) parameters.push_back(build.bias(shape.parameter + ".bias", shape.outputs));
  std::vector<TensorId> reads{x};
  reads.insert(reads.end(), parameters.begin(), parameters.end());
  const TensorId y = build.activation(shape.parameter, shape.outputs);
  build.op(Linear{}, shape.name, reads, {y});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.activation("d_input." + shape.parameter, shape.inputs);
    build.op(LinearInputGradient{}, shape.name + " dX", {dy, weight}, {dx});
    std::vector<TensorId> gradients;
    for (const TensorId parameter : parameters) gradients.push_back(build.gradient(parameter));
    build.op(LinearWeightGradient{}, shape.name + " dW", {x, dy}, gradients);
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
