#include "moe/model/layers/embedding.h"

namespace moe {

Layer embedding(LayerBuilder& build) {
  const Model& model = build.model;
  const TensorId token_table = build.weight("token_table", model.vocabulary, model.d_model);
  const TensorId position_table =
      build.weight("position_table", model.sequence_length, model.d_model);
  const TensorId tokens = build.program().tokens.front();
  const TensorId x = build.activation("embedded", model.d_model);
  build.op(EmbedTokens{model.sequence_length}, "embed", {tokens, token_table, position_table}, {x});
  const auto backward = [=, &build](TensorId dx) {
    build.op(EmbedTokensGradient{build.model.sequence_length}, "embed gradient", {tokens, dx},
             {build.gradient(token_table), build.gradient(position_table)});
    return -1;
  };
  return {x, backward};
}

}  // namespace moe
