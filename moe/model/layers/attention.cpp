#include "moe/model/layers/attention.h"

#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"
#include "moe/model/layers/latent_attention.h"
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
    return unchanged(qkv);
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

/// x[T,M] -> qkv of the heads of this rank, for the tokens of all ranks that share dense matrices.
Layer queries_keys_values(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const std::int64_t width = head_width(model) * model.heads,
                     key_width = head_width(model) * key_value_heads(model),
                     values = value_width(model) * key_value_heads(model);
  const Layer qkv = linear(build,
                           {.name = "attention qkv",
                            .parameter = "attention.qkv",
                            .inputs = model.d_model,
                            .outputs = width + key_width + values,
                            .bias = attention_biases(model).qkv,
                            .sharded = Sharded::by_columns,
                            .column_groups = {width, key_width, values}},
                           gather_tokens(build, x, "attention input"));
  const auto backward = [=, &build](TensorId d_qkv) {
    return sum_tokens(build, qkv.backward(d_qkv), "attention input gradient");
  };
  return {qkv.output, backward};
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
  const std::int64_t length = model.sequence_length, of_head = head_width(model),
                     of_value = value_width(model), attended_columns = of_value * model.heads;
  // Each of the ranks that share dense matrices has some heads, with their heads of keys and
  // values.
  const int parts = build.tensor_ranks(), heads = model.heads / parts,
            key_heads = key_value_heads(model) / parts;
  const std::int64_t tokens = build.tokens * parts;
  const Layer qkv = latent_attention(model).rank > 0 ? latent_queries_keys_values(build, x)
                                                     : queries_keys_values(build, x);
  const bool rotary = turns(model, build.block), turns_first = turns_before_norms(model);
  const RotaryAngles angles = rotary ? rotary_angles(model, build.block) : RotaryAngles{};
  const auto turn = [&](TensorId rows) {
    build.op(Rotary{heads, length, key_heads, angles, of_value}, "attention rotary", {rows},
             {rows});
  };
  const auto turn_back = [=, &build](TensorId d_rows) {
    build.op(RotaryGradient{heads, length, key_heads, angles, of_value},
             "attention rotary gradient", {d_rows}, {d_rows});
  };
  if (rotary && turns_first) turn(qkv.output);
  const Layer normed = query_key_norm(build, qkv.output, normed_groups(model, heads, key_heads));
  if (rotary && !turns_first) turn(normed.output);
  const TensorId attended = build.activation("attended", tokens, attended_columns / parts);
  const TensorId log_sum_exp = build.wide("attention_log_sum_exp", tokens, heads);
  const auto scratch = [=, &build](const char* name, bool gradient) {
    return build.wide(name, key_heads,
                      attention_scratch_columns({key_heads, heads / key_heads, of_head, of_value},
                                                length, build.narrows(), gradient));
  };
  const std::int64_t window = attention_window(model, build.block);
  const double scale = attention_scale(model);
  std::vector<TensorId> reads{normed.output};
  const bool has_sinks = has_attention_sinks(model);
  if (has_sinks) reads.push_back(attention_sinks(build));
  build.op(Attention{heads, length, key_heads, window, scale, of_value}, "attention", reads,
           {attended, log_sum_exp, scratch("attention_scratch", false)});
  const Layer output = linear(build,
                              {.name = "attention output",
                               .parameter = "attention.output",
                               .inputs = attended_columns,
                               .outputs = model.d_model,
                               .bias = attention_biases(model).output,
                               .sharded = Sharded::by_rows,
                               .standard_deviation = build.residual_deviation()},
                              attended);
  const TensorId y = sum_tokens(build, output.output, "attention output");

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_attended =
        output.backward(gather_tokens(build, dy, "attention output gradient"));
    const TensorId d_qkv = build.like("d_qkv", normed.output);
    build.op(AttentionGradient{heads, length, key_heads, window, scale, of_value},
             "attention gradient", {d_attended, normed.output, attended, log_sum_exp},
             {d_qkv, scratch("attention_gradient_scratch", true)});
    if (has_sinks) {
      build.op(AttentionSinkGradient{length}, "attention sink gradient",
               {d_attended, attended, log_sum_exp, reads[1]},
               {build.gradient(reads[1]), build.wide("attention_sink_terms", tokens, heads)});
    }
    if (rotary && !turns_first) turn_back(d_qkv);
    const TensorId d_turned = normed.backward(d_qkv);
    if (rotary && turns_first) turn_back(d_turned);
    return qkv.backward(d_turned);
  };
  return {y, backward};
}

}  // namespace moe
