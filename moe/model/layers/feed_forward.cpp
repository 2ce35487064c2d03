#include "moe/model/layers/feed_forward.h"

#include "moe/model/layers/linear.h"

namespace moe {

Layer feed_forward(LayerBuilder& build, TensorId x) {
  const std::int64_t width = build.model.d_model, hidden = build.model.d_hidden;
  const Layer up = linear(
      build, {.name = "ffn up", .parameter = "ffn.up", .inputs = width, .outputs = hidden}, x);
  const TensorId activated = build.activation("activated", hidden);
  build.op(Gelu{}, "ffn gelu", {up.output}, {activated});
  const Layer down = linear(build,
                            {.name = "ffn down",
                             .parameter = "ffn.down",
                             .inputs = hidden,
                             .outputs = width,
                             .standard_deviation = build.residual_deviation()},
                            activated);

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_activated = down.backward(dy);
    const TensorId d_hidden = build.activation("d_hidden", hidden);
    build.op(GeluGradient{}, "ffn gelu gradient", {d_activated, up.output}, {d_hidden});
    return up.backward(d_hidden);
  };
  return {down.output, backward};
}

}  // namespace moe
