#include "moe/model/layers/embedding.h"

#include "moe/model/layers/linear.h"
#include "moe/model/residual_keys.h"

namespace moe {

TensorId token_table(LayerBuilder& build) {
  const std::string name = "token_table";
  bool is_copy = false;
  for (const Parameter& parameter : build.program().parameters) {
    if (build.program().tensors[parameter.value].name != name) continue;
    if (parameter.stage == build.stage) return parameter.value;
    is_copy = true;
  }
  const std::int64_t vocabulary = build.model.vocabulary, width = build.model.d_model;
  const TensorId table = build.shards_vocabulary()
                             ? build.shared_weight(name, vocabulary, width, Sharded::by_rows,
                                                   LayerBuilder::kInitialDeviation)
                             : build.weight(name, vocabulary, width);
  build.program().parameters.back().is_copy = is_copy;
  return table;
}

TensorId gather_ids(LayerBuilder& build, TensorId ids, const std::string& name) {
  if (!build.shards_vocabulary()) return ids;
  const TensorId all = build.integers(name + ".gathered", build.tensor_ranks() * build.tokens, 1);
  build.op(AllGather{}, "gather " + name, {ids}, {all});
  return all;
}

Layer embedding(LayerBuilder& build) {
  const Model& model = build.model;
  const bool shards = build.shards_vocabulary();
  const TensorId tokens = gather_ids(build, build.program().tokens.front(), "tokens"),
                 table = token_table(build);
  std::vector<TensorId> tables{table};
  if (model.positions == Positions::learned) {
    tables.push_back(build.weight("position_table", model.sequence_length, model.d_model));
  }
  const EmbeddedTokens of{
      model.sequence_length, build.first_token() % model.sequence_length, build.first_id(),
      shards ? build.tokens * index_in_group(build.groups, GroupKind::tensor, build.rank) : 0,
      build.tokens};
  const std::int64_t rows = build.program().tensors[tokens].rows;
  const TensorId x = build.activation("embedded", rows, model.d_model);
  std::vector<TensorId> reads{tokens};
  reads.insert(reads.end(), tables.begin(), tables.end());
  build.op(EmbedTokens{of}, "embed", reads, {x});
  const double factor = embedding_factor(model);
  const auto backward = [=, &build](TensorId d_output) {
    const TensorId dx = scaled(build, "embedding gradient", d_output, factor);
    const TensorId d_all = shards ? gather_tokens(build, dx, "embedding gradient") : dx;
    std::vector<TensorId> from{tokens, d_all}, gradients;
    for (const TensorId parameter : tables) gradients.push_back(build.gradient(parameter));
    // A tied head of this stage, whose backward came first, has left its share.
    const bool has_head = build.groups.layout.pipeline == 1;
    if (has_head && build.model.head == Head::tied) from.push_back(gradients[0]);
    build.op(EmbedTokensGradient{of}, "embed gradient", from, gradients);
    return -1;
  };
  const TensorId own = shards ? sum_tokens(build, x, "embedding") : x;
  return {scaled(build, "embedding", own, factor), backward};
}

}  // namespace moe
