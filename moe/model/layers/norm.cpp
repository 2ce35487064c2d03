#include "moe/model/layers/norm.h"

#include <stdexcept>

namespace moe {
namespace {

Layer layer_norm(LayerBuilder& build, const std::string& name, const std::string& parameter,
                 TensorId x) {
  const std::int64_t width = build.model.d_model;
  const TensorId scale = build.scale(parameter + ".scale", width);
  const TensorId shift = build.bias(parameter + ".shift", width);
  const TensorId y = build.activation(parameter, width);
  const TensorId statistics = build.wide(parameter + ".statistics", 2);
  build.op(LayerNorm{build.model.norm_epsilon}, name, {x, scale, shift}, {y, statistics});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.activation("d_input." + parameter, width);
    build.op(LayerNormInputGradient{}, name + " dX", {dy, x, scale, statistics}, {dx});
    build.op(LayerNormWeightGradient{}, name + " dW", {dy, x, statistics},
             {build.gradient(scale), build.gradient(shift)});
    return dx;
  };
  return {y, backward};
}

}  // namespace

Layer rms_norm(LayerBuilder& build, const std::string& name, const std::string& parameter,
               TensorId x, double epsilon) {
  const std::int64_t width = build.program().tensors[static_cast<std::size_t>(x)].columns;
  const TensorId scale = build.scale(parameter + ".scale", width);
  const TensorId y = build.activation(parameter, width);
  const TensorId statistics = build.wide(parameter + ".statistics", 1);
  build.op(RmsNorm{epsilon}, name, {x, scale}, {y, statistics});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.activation("d_input." + parameter, width);
    build.op(RmsNormInputGradient{}, name + " dX", {dy, x, scale, statistics}, {dx});
    build.op(RmsNormWeightGradient{}, name + " dW", {dy, x, statistics}, {build.gradient(scale)});
    return dx;
  };
  return {y, backward};
}

Layer norm(LayerBuilder& build, const std::string& name, const std::string& parameter, TensorId x) {
  switch (build.model.norm) {
    case Norm::layer_norm:
      return layer_norm(build, name, parameter, x);
    case Norm::rms_norm:
      return rms_norm(build, name, parameter, x, build.model.norm_epsilon);
  }
  throw std::logic_error("norm: no such norm");
}

}  // namespace moe
