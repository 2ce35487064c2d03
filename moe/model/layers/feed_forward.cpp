#include "moe/model/layers/feed_forward.h"

#include "moe/model/layers/linear.h"

namespace moe {

Layer feed_forward(LayerBuilder& build, TensorId x) {
  const std::int64_t width = build.model.d_model, hidden = build.model.d_hidden;
  const int parts = build.tensor_ranks();
  const std::int64_t hidden_here = hidden / parts, tokens = build.tokens * parts;
  const Layer up = linear(build,
                          {.name = "ffn up",
                           .parameter = "ffn.up",
                           .inputs = width,
                           .outputs = hidden,
                           .sharded = Sharded::by_columns},
                          gather_tokens(build, x, "ffn input"));
  const TensorId activated = build.activation("activated", tokens, hidden_here);
  build.op(Gelu{}, "ffn gelu", {up.output}, {activated});
  const Layer down = linear(build,
                            {.name = "ffn down",
                             .parameter = "ffn.down",
                             .inputs = hidden,
                             .outputs = width,
                             .sharded = Sharded::by_rows,
                             .standard_deviation = build.residual_deviation()},
                            activated);
  const TensorId y = sum_tokens(build, down.output, "ffn output");

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_activated = down.backward(gather_tokens(build, dy, "ffn output gradient"));
    const TensorId d_hidden = build.activation("d_hidden", tokens, hidden_here);
    build.op(GeluGradient{}, "ffn gelu gradient", {d_activated, up.output}, {d_hidden});
    return sum_tokens(build, up.backward(d_hidden), "ffn input gradient");
  };
  return {y, backward};
}

}  // namespace moe
