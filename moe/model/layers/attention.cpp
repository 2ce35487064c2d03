#include "moe/model/layers/attention.h"

#include "moe/model/attention_biases.h"
#include "moe/model/layers/linear.h"

namespace moe {

Layer attention(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const AttentionBiases biases = attention_biases(model);
  const std::int64_t width = model.d_model, length = model.sequence_length;
  const std::int64_t head_width = width / model.heads,
                     key_width = head_width * key_value_heads(model);
  // Each of the ranks that share dense matrices has some heads, with their heads of keys and
  // values.
  const int parts = build.tensor_ranks(), heads = model.heads / parts,
            key_heads = key_value_heads(model) / parts;
  const std::int64_t tokens = build.tokens * parts;
  const Layer qkv = linear(build,
                           {.name = "attention qkv",
                            .parameter = "attention.qkv",
                            .inputs = width,
                            .outputs = width + 2 * key_width,
                            .bias = biases.qkv,
                            .sharded = Sharded::by_columns,
                            .column_groups = {width, key_width, key_width}},
                           gather_tokens(build, x, "attention input"));
  const bool rotary = model.positions == Positions::rotary;
  if (rotary) {
    build.op(Rotary{heads, length, key_heads, model.rotary_base}, "attention rotary", {qkv.output},
             {qkv.output});
  }
  const TensorId attended = build.activation("attended", tokens, width / parts);
  const TensorId log_sum_exp = build.wide("attention_log_sum_exp", tokens, heads);
  const auto scratch = [=, &build](const char* name, bool gradient) {
    return build.wide(name, key_heads,
                      attention_scratch_columns({key_heads, heads / key_heads, head_width}, length,
                                                build.narrows(), gradient));
  };
  build.op(Attention{heads, length, key_heads}, "attention", {qkv.output},
           {attended, log_sum_exp, scratch("attention_scratch", false)});
  const Layer output = linear(build,
                              {.name = "attention output",
                               .parameter = "attention.output",
                               .inputs = width,
                               .outputs = width,
                               .bias = biases.output,
                               .sharded = Sharded::by_rows,
                               .standard_deviation = build.residual_deviation()},
                              attended);
  const TensorId y = sum_tokens(build, output.output, "attention output");

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_attended =
        output.backward(gather_tokens(build, dy, "attention output gradient"));
    const TensorId d_qkv = build.activation("d_qkv", tokens, (width + 2 * key_width) / parts);
    build.op(AttentionGradient{heads, length, key_heads}, "attention gradient",
             {d_attended, qkv.output, attended, log_sum_exp},
             {d_qkv, scratch("attention_gradient_scratch", true)});
    if (rotary) {
      build.op(RotaryGradient{heads, length, key_heads, build.model.rotary_base},
               "attention rotary gradient", {d_qkv}, {d_qkv});
    }
    return sum_tokens(build, qkv.backward(d_qkv), "attention input gradient");
  };
  return {y, backward};
}

}  // namespace moe
