#include "moe/model/layers/latent_attention.h"

#include "moe/model/attention_biases.h"
#include "moe/model/latent_keys.h"
#include "moe/model/layers/linear.h"
#include "moe/model/layers/norm.h"
#include "moe/model/rotary_keys.h"

namespace moe {

namespace {

/// x[T,M] -> rms(x A)[T,columns] of this rank's tokens. `part` is "query" or "latent".
Layer compressed(LayerBuilder& build, TensorId x, const std::string& part, std::int64_t columns) {
  const Layer down = linear(build,
                            {.name = "attention " + part + " down",
                             .parameter = "attention." + part + "_down",
                             .inputs = build.model.d_model,
                             .outputs = columns,
                             .bias = attention_biases(build.model).qkv},
                            x);
  const Layer normed =
      rms_norm(build, "attention " + part + " norm", "attention." + part + "_down_norm",
               down.output, latent_attention(build.model).norm_epsilon);
  return {normed.output, [=](TensorId dy) { return down.backward(normed.backward(dy)); }};
}

/// x[T,inputs] -> y[n T,outputs / n], of the heads of this rank.
Layer of_heads(LayerBuilder& build, TensorId x, const std::string& part, std::int64_t inputs,
               std::int64_t outputs) {
  const std::string name = "attention " + part;
  const Layer up = linear(build,
                          {.name = name + " up",
                           .parameter = "attention." + part + "_up",
                           .inputs = inputs,
                           .outputs = outputs,
                           .bias = false,
                           .sharded = Sharded::by_columns},
                          gather_tokens(build, x, name));
  const auto backward = [=, &build](TensorId dy) {
    return sum_tokens(build, up.backward(dy), name + " gradient");
  };
  return {up.output, backward};
}

/// x[T,M] -> (x E)[n T,R], alike for all heads.
Layer shared_key(LayerBuilder& build, TensorId x, std::int64_t columns) {
  const Layer product = linear(build,
                               {.name = "attention shared key",
                                .parameter = "attention.shared_key",
                                .inputs = build.model.d_model,
                                .outputs = columns,
                                .bias = attention_biases(build.model).qkv},
                               x);
  // Each rank has the gradient by its own heads.
  const auto backward = [=, &build](TensorId dy) {
    return product.backward(sum_tokens(build, dy, "attention shared key gradient"));
  };
  return {gather_tokens(build, product.output, "attention shared key"), backward};
}

}  // namespace

Layer latent_queries_keys_values(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const LatentAttention latent = latent_attention(model);
  const std::int64_t width = head_width(model), values = value_width(model),
                     turned = rotary_angles(model, build.block).columns,
                     of_keys = width - turned + values, key_heads = key_value_heads(model);
  const int parts = build.tensor_ranks(), heads_here = model.heads / parts,
            key_heads_here = key_value_heads(model) / parts;

  const std::int64_t query_inputs = latent.query_rank > 0 ? latent.query_rank : model.d_model;
  const Layer low_queries =
      latent.query_rank > 0 ? compressed(build, x, "query", latent.query_rank) : unchanged(x);
  const Layer queries =
      of_heads(build, low_queries.output, "query", query_inputs, model.heads * width);
  const Layer low_keys = compressed(build, x, "latent", latent.rank);
  const Layer keys = of_heads(build, low_keys.output, "latent", latent.rank, key_heads * of_keys);
  const Layer turned_key = shared_key(build, x, turned);

  const std::int64_t tokens = build.tokens * parts;
  const std::int64_t columns = heads_here * width + key_heads_here * (width + values);
  const TensorId qkv = build.activation("attention.qkv", tokens, columns);
  build.op(JoinHeads{heads_here, key_heads_here}, "attention join heads",
           {queries.output, keys.output, turned_key.output}, {qkv});

  const auto backward = [=, &build](TensorId d_qkv) {
    const TensorId d_queries = build.like("d_attention.query_up", queries.output),
                   d_keys = build.like("d_attention.latent_up", keys.output),
                   d_turned = build.like("d_attention.shared_key", turned_key.output);
    build.op(JoinHeadsGradient{heads_here, key_heads_here}, "attention join heads gradient",
             {d_qkv}, {d_queries, d_keys, d_turned});
    const TensorId by_queries = low_queries.backward(queries.backward(d_queries)),
                   by_keys = low_keys.backward(keys.backward(d_keys)),
                   by_turned = turned_key.backward(d_turned);
    const TensorId by_both =
        add(build, "attention latent gradients", "d_input.attention.latents", by_queries, by_keys);
    return add(build, "attention input gradients", "d_input.attention", by_both, by_turned);
  };
  return {qkv, backward};
}

}  // namespace moe
