#include "moe/model/layers/attention.h"

#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/layers/linear.h"
#include "moe/model/rotary_keys.h"

namespace moe {

namespace {

/// The norms of queries and keys of a rank, which has some of the heads.
QueryKeyGroups normed_groups(const Model& model, int heads, int key_heads) {
  const bool by_head = model.query_key_norm == QueryKeyNorms::head;
  return {head_width(model) * heads, head_width(model) * key_heads, by_head ? heads : 1,
          by_head ? key_heads : 1};
}

/// qkv[n,(heads + 2 key_heads) W] -> the same with norms of queries and keys, where the model has
/// them.
Layer query_key_norm(LayerBuilder& build, TensorId qkv, const QueryKeyGroups& groups) {
  if (build.model.query_key_norm == QueryKeyNorms::none) {
    return {qkv, [](TensorId dy) { return dy; }};
  }
  const TensorId query_scale =
      build.scale("attention.query_norm.scale", groups.query_columns / groups.query_groups);
  const TensorId key_scale =
      build.scale("attention.key_norm.scale", groups.key_columns / groups.key_groups);
  const TensorId y = build.like("attention.normed_qkv", qkv);
  const std::int64_t rows = build.program().tensors[static_cast<std::size_t>(qkv)].rows;
  const TensorId statistics = build.wide("attention.query_key_norm.statistics", rows,
                                         groups.query_groups + groups.key_groups);
  build.op(QueryKeyNorm{groups, build.model.norm_epsilon}, "attention query key norm",
           {qkv, query_scale, key_scale}, {y, statistics});
  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.like("d_input.attention.normed_qkv", qkv);
    build.op(QueryKeyNormInputGradient{groups}, "attention query key norm dX",
             {dy, qkv, query_scale, key_scale, statistics}, {dx});
    build.op(QueryKeyNormWeightGradient{groups}, "attention query key norm dW",
             {dy, qkv, statistics}, {build.gradient(query_scale), build.gradient(key_scale)});
    return dx;
  };
  return {y, backward};
}

/// A score of each head of the rank.
TensorId attention_sinks(LayerBuilder& build) {
  const int heads = build.model.heads;
  return build.tensor_ranks() > 1 ? build.shared_bias("attention.sinks", heads, Sharded::by_columns)
                                  : build.bias("attention.sinks", heads);
}

}  // namespace

Layer attention(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const AttentionBiases biases = attention_biases(model);
  const std::int64_t length = model.sequence_length, of_head = head_width(model),
                     width = of_head * model.heads, key_width = of_head * key_value_heads(model);
  // Each of the ranks that share dense matrices has some heads, with their heads of keys and
  // values.
  const int parts = build.tensor_ranks(), heads = model.heads / parts,
            key_heads = key_value_heads(model) / parts;
  const std::int64_t tokens = build.tokens * parts;
  const Layer qkv = linear(build,
                           {.name = "attention qkv",
                            .parameter = "attention.qkv",
                            .inputs = model.d_model,
                            .outputs = width + 2 * key_width,
                            .bias = biases.qkv,
                            .sharded = Sharded::by_columns,
                            .column_groups = {width, key_width, key_width}},
                           gather_tokens(build, x, "attention input"));
  const Layer normed = query_key_norm(build, qkv.output, normed_groups(model, heads, key_heads));
  const bool rotary = model.positions == Positions::rotary;
  const RotaryAngles angles = rotary ? rotary_angles(model, build.block) : RotaryAngles{};
  if (rotary) {
    build.op(Rotary{heads, length, key_heads, angles}, "attention rotary", {normed.output},
             {normed.output});
  }
  const TensorId attended = build.activation("attended", tokens, width / parts);
  const TensorId log_sum_exp = build.wide("attention_log_sum_exp", tokens, heads);
  const auto scratch = [=, &build](const char* name, bool gradient) {
    return build.wide(name, key_heads,
                      attention_scratch_columns({key_heads, heads / key_heads, of_head}, length,
                                                build.narrows(), gradient));
  };
  const std::int64_t window = attention_window(model, build.block);
  const double scale = attention_scale(model);
  std::vector<TensorId> reads{normed.output};
  const bool has_sinks = has_attention_sinks(model);
  if (has_sinks) reads.push_back(attention_sinks(build));
  build.op(Attention{heads, length, key_heads, window, scale}, "attention", reads,
           {attended, log_sum_exp, scratch("attention_scratch", false)});
  const Layer output = linear(build,
                              {.name = "attention output",
                               .parameter = "attention.output",
                               .inputs = width,
                               .outputs = model.d_model,
                               .bias = biases.output,
                               .sharded = Sharded::by_rows,
                               .standard_deviation = build.residual_deviation()},
                              attended);
  const TensorId y = sum_tokens(build, output.output, "attention output");

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_attended =
        output.backward(gather_tokens(build, dy, "attention output gradient"));
    const TensorId d_qkv = build.activation("d_qkv", tokens, (width + 2 * key_width) / parts);
    build.op(AttentionGradient{heads, length, key_heads, window, scale}, "attention gradient",
             {d_attended, normed.output, attended, log_sum_exp},
             {d_qkv, scratch("attention_gradient_scratch", true)});
    if (has_sinks) {
      build.op(AttentionSinkGradient{length}, "attention sink gradient",
               {d_attended, attended, log_sum_exp, reads[1]},
               {build.gradient(reads[1]), build.wide("attention_sink_terms", tokens, heads)});
    }
    if (rotary) {
      build.op(RotaryGradient{heads, length, key_heads, angles}, "attention rotary gradient",
               {d_qkv}, {d_qkv});
    }
    return sum_tokens(build, qkv.backward(normed.backward(d_qkv)), "attention input gradient");
  };
  return {y, backward};
}

}  // namespace moe
