#include "moe/model/layers/embedding.h"

namespace moe {

TensorId token_table(LayerBuilder& build) {
  const std::string name = "token_table";
  for (const Parameter& parameter : build.program().parameters) {
    if (build.program().tensors[parameter.value].name == name) {
      return parameter.value;
    }
  }
  return build.weight(name, build.model.vocabulary, build.model.d_model);
}

Layer embedding(LayerBuilder& build) {
  const Model& model = build.model;
  const TensorId tokens = build.program().tokens.front(), table = token_table(build);
  std::vector<TensorId> tables{table};
  if (model.positions == Positions::learned) {
    tables.push_back(build.weight("position_table", model.sequence_length, model.d_model));
  }
  const TensorId x = build.activation("embedded", model.d_model);
  std::vector<TensorId> reads{tokens};
  reads.insert(reads.end(), tables.begin(), tables.end());
  const std::int64_t first = build.first_token() % model.sequence_length;
  build.op(EmbedTokens{model.sequence_length, first}, "embed", reads, {x});
  const auto backward = [=, &build](TensorId dx) {
    std::vector<TensorId> from{tokens, dx}, gradients;
    for (const TensorId parameter : tables) gradients.push_back(build.gradient(parameter));
    // A tied head, whose backward came first, has left its share.
    if (build.model.head == Head::tied) from.push_back(gradients[0]);
    build.op(EmbedTokensGradient{build.model.sequence_length, first}, "embed gradient", from,
             gradients);
    return -1;
  };
  return {x, backward};
}

}  // namespace moe
