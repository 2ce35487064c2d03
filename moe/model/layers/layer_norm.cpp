#include "moe/model/layers/layer_norm.h"

namespace moe {

Layer layer_norm(LayerBuilder& build, const std::string& name, const std::string& parameter,
                 TensorId x) {
  const std::int64_t width = build.model.d_model;
  const TensorId scale = build.scale(parameter + ".scale", width);
  const TensorId shift = build.bias(parameter + ".shift", width);
  const TensorId y = build.activation(parameter, width);
  const TensorId statistics = build.activation(parameter + ".statistics", 2);
  build.op(LayerNorm{}, name, {x, scale, shift}, {y, statistics});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.activation("d_input." + parameter, width);
    build.op(LayerNormInputGradient{}, name + " dX", {dy, x, scale, statistics}, {dx});
    build.op(LayerNormWeightGradient{}, name + " dW", {dy, x, statistics},
             {build.gradient(scale), build.gradient(shift)});
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
