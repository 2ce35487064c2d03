#include "moe/model/layers/attention.h"

#include "moe/model/layers/linear.h"

namespace moe {

Layer attention(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const std::int64_t width = model.d_model, length = model.sequence_length;
  const int heads = model.heads;
  const Layer qkv = linear(build,
                           {.name = "attention qkv",
                            .parameter = "attention.qkv",
                            .inputs = width,
                            .outputs = 3 * width},
                           x);
  const TensorId attended = build.activation("attended", width);
  const TensorId probabilities =
      build.activation("attention_probabilities", build.tokens * heads, length);
  build.op(Attention{heads, length}, "attention", {qkv.output}, {attended, probabilities});
  const Layer output = linear(build,
                              {.name = "attention output",
                               .parameter = "attention.output",
                               .inputs = width,
                               .outputs = width,
                               .standard_deviation = build.residual_deviation()},
                              attended);

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_attended = output.backward(dy);
    const TensorId d_qkv = build.activation("d_qkv", 3 * width);
    const TensorId scratch = build.activation("attention_scratch", heads * length, length);
    build.op(AttentionGradient{heads, length}, "attention gradient",
             {d_attended, qkv.output, probabilities}, {d_qkv, scratch});
    return qkv.backward(d_qkv);
  };
  return {output.output, backward};
}

}  // namespace moe
