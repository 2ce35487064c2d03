#include "moe/model/layers/head.h"

#include "moe/model/layers/layer_norm.h"
#include "moe/model/layers/linear.h"

namespace moe {

Layer head(LayerBuilder& build, TensorId x) {
  const Layer norm = layer_norm(build, "final norm", "final_norm", x);
  const Layer logits = linear(build,
                              {.name = "head",
                               .parameter = "head",
                               .inputs = build.model.d_model,
                               .outputs = build.model.vocabulary,
                               .bias = false},
                              norm.output);
  const TensorId targets = build.program().targets.front();
  const TensorId loss = build.program().losses.front();
  const TensorId log_sum_exp = build.activation("log_sum_exp", 1);
  build.op(CrossEntropy{build.batch_tokens}, "cross entropy", {logits.output, targets},
           {loss, log_sum_exp});

  const auto backward = [=, &build](TensorId) {
    const TensorId d_logits = build.activation("d_logits", build.model.vocabulary);
    build.op(CrossEntropyGradient{build.batch_tokens}, "cross entropy gradient",
             {logits.output, targets, log_sum_exp}, {d_logits});
    return norm.backward(logits.backward(d_logits));
  };
  return {loss, backward};
}

}  // namespace moe
