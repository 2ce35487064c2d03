#include "moe/model/layers/head.h"

#include "moe/model/layers/embedding.h"
#include "moe/model/layers/linear.h"
#include "moe/model/layers/norm.h"

namespace moe {
namespace {

/// logits = x table^T: forward is the input gradient op of a linear layer, and the input gradient
/// is its forward op.
Layer tied_logits(LayerBuilder& build, TensorId x) {
  const TensorId table = token_table(build);
  const TensorId logits = build.activation("head", build.model.vocabulary);
  build.op(LinearInputGradient{}, "head", {x, table}, {logits});
  const auto backward = [=, &build](TensorId d_logits) {
    const TensorId dx = build.activation("d_input.head", build.model.d_model);
    build.op(Linear{}, "head dX", {d_logits, table}, {dx});
    build.op(LinearWeightGradient{}, "head dW", {d_logits, x}, {build.gradient(table)});
    return dx;
  };
  return {logits, backward};
}

}  // namespace

Layer head(LayerBuilder& build, TensorId x) {
  const Layer normed = norm(build, "final norm", "final_norm", x);
  const Layer logits = build.model.head == Head::tied ? tied_logits(build, normed.output)
                                                      : linear(build,
                                                               {.name = "head",
                                                                .parameter = "head",
                                                                .inputs = build.model.d_model,
                                                                .outputs = build.model.vocabulary,
                                                                .bias = false},
                                                               normed.output);
  const TensorId targets = build.program().targets.front();
  const TensorId loss = build.program().losses.front();
  const TensorId log_sum_exp = build.activation("log_sum_exp", 1);
  build.op(CrossEntropy{build.batch_tokens}, "cross entropy", {logits.output, targets},
           {loss, log_sum_exp});

  const auto backward = [=, &build](TensorId) {
    const TensorId d_logits = build.activation("d_logits", build.model.vocabulary);
    build.op(CrossEntropyGradient{build.batch_tokens}, "cross entropy gradient",
             {logits.output, targets, log_sum_exp}, {d_logits});
    return normed.backward(logits.backward(d_logits));
  };
  return {loss, backward};
}

}  // namespace moe
