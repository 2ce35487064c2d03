#include "moe/model/layers/head.h"

#include "moe/model/layers/embedding.h"
#include "moe/model/layers/linear.h"
#include "moe/model/layers/norm.h"
#include "moe/model/residual_keys.h"

namespace moe {
namespace {

/// logits = x table^T. Forward is the same op as the input gradient of a linear layer, and the
/// other way round.
Layer tied_logits(LayerBuilder& build, TensorId x) {
  const TensorId table = token_table(build);
  const std::int64_t rows = build.program().tensors[x].rows,
                     ids = build.program().tensors[table].rows;
  const TensorId logits = build.activation("head", rows, ids);
  build.op(LinearInputGradient{}, "head", {x, table}, {logits});
  const auto backward = [=, &build](TensorId d_logits) {
    const TensorId dx = build.activation("d_input.head", rows, build.model.d_model);
    build.op(Linear{}, "head dX", {d_logits, table}, {dx});
    build.op(LinearWeightGradient{}, "head dW", {d_logits, x}, {build.gradient(table)});
    return dx;
  };
  return {logits, backward};
}

/// x[n,M] -> the logits of this rank's share of the vocabulary.
Layer logits_of(LayerBuilder& build, TensorId x) {
  if (build.model.head == Head::tied) return tied_logits(build, x);
  return linear(build,
                {.name = "head",
                 .parameter = "head",
                 .inputs = build.model.d_model,
                 .outputs = build.model.vocabulary,
                 .bias = false,
                 .sharded = build.shards_vocabulary() ? Sharded::by_columns : Sharded::not_at_all},
                x);
}

/// Writes the loss of this rank's tokens, and returns log_sum_exp[n,1] of the logits[n,.].
TensorId cross_entropy(LayerBuilder& build, TensorId logits, TensorId targets) {
  const std::int64_t rows = build.program().tensors[logits].rows;
  const TensorId loss = build.program().losses.front(),
                 log_sum_exp = build.wide("log_sum_exp", rows, 1);
  if (!build.shards_vocabulary()) {
    build.op(CrossEntropy{build.batch_tokens}, "cross entropy", {logits, targets},
             {loss, log_sum_exp});
    return log_sum_exp;
  }
  const int ranks = build.tensor_ranks();
  const TensorId own = build.wide("vocabulary_statistics", rows, 2),
                 all = build.wide("vocabulary_statistics.gathered", ranks * rows, 2);
  build.op(VocabularyStatistics{build.first_id()}, "vocabulary statistics", {logits, targets},
           {own});
  build.op(AllGather{}, "gather vocabulary statistics", {own}, {all});
  build.op(SharedCrossEntropy{build.batch_tokens, ranks,
                              index_in_group(build.groups, GroupKind::tensor, build.rank)},
           "cross entropy", {all}, {loss, log_sum_exp});
  return log_sum_exp;
}

}  // namespace

Layer head(LayerBuilder& build, TensorId x) {
  const bool shards = build.shards_vocabulary();
  const Layer normed = norm(build, "final norm", "final_norm", x);
  // Instead of the logits, which have more columns.
  const double factor = logits_factor(build.model);
  const TensorId rows = scaled(build, "head input", normed.output, factor);
  const Layer logits = logits_of(build, shards ? gather_tokens(build, rows, "head input") : rows);
  const TensorId targets = gather_ids(build, build.program().targets.front(), "targets");
  const TensorId log_sum_exp = cross_entropy(build, logits.output, targets);

  const auto backward = [=, &build](TensorId) {
    const Tensor& like = build.program().tensors[logits.output];
    const TensorId d_logits = build.activation("d_logits", like.rows, like.columns);
    build.op(CrossEntropyGradient{build.batch_tokens, build.first_id()}, "cross entropy gradient",
             {logits.output, targets, log_sum_exp}, {d_logits});
    const TensorId dx = logits.backward(d_logits);
    const TensorId d_rows = shards ? sum_tokens(build, dx, "head input gradient") : dx;
    return normed.backward(scaled(build, "head input gradient", d_rows, factor));
  };
  return {build.program().losses.front(), backward};
}

}  // namespace moe
