#include "moe/model/layers/attention.h"

#include "moe/model/layers/linear.h"

namespace moe {

Layer attention(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const std::int64_t width = model.d_model, length = model.sequence_length;
  // Ranks that share dense matrices have some heads each.
  const int parts = build.tensor_ranks(), heads = model.heads / parts;
  const std::int64_t width_here = width / parts, tokens = build.tokens * parts;
  const Layer qkv = linear(build,
                           {.name = "attention qkv",
                            .parameter = "attention.qkv",
                            .inputs = width,
                            .outputs = 3 * width,
                            .sharded = Sharded::by_columns,
                            .column_groups = 3},
                           gather_tokens(build, x, "attention input"));
  const TensorId attended = build.activation("attended", tokens, width_here);
  const TensorId probabilities =
      build.activation("attention_probabilities", tokens * heads, length);
  build.op(Attention{heads, length}, "attention", {qkv.output}, {attended, probabilities});
  const Layer output = linear(build,
                              {.name = "attention output",
                               .parameter = "attention.output",
                               .inputs = width,
                               .outputs = width,
                               .sharded = Sharded::by_rows,
                               .standard_deviation = build.residual_deviation()},
                              attended);
  const TensorId y = sum_tokens(build, output.output, "attention output");

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_attended =
        output.backward(gather_tokens(build, dy, "attention output gradient"));
    const TensorId d_qkv = build.activation("d_qkv", tokens, 3 * width_here);
    const TensorId scratch = build.activation("attention_scratch", heads * length, length);
    build.op(AttentionGradient{heads, length}, "attention gradient",
             {d_attended, qkv.output, probabilities}, {d_qkv, scratch});
    return sum_tokens(build, qkv.backward(d_qkv), "attention input gradient");
  };
  return {y, backward};
}

}  // namespace moe
