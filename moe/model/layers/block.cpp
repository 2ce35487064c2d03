#include "moe/model/layers/block.h"

#include "moe/model/layers/attention.h"
#include "moe/model/layers/feed_forward.h"
#include "moe/model/layers/linear.h"
#include "moe/model/layers/mixture_of_experts.h"
#include "moe/model/layers/norm.h"
#include "moe/model/residual_keys.h"

namespace moe {
namespace {

/// y = sigmoid(x g) f(x) for the tokens of this rank, g[M,1].  [Qwen1.5-MoE]
Layer gated(LayerBuilder& build, TensorId x, const Layer& f) {
  const std::int64_t width = build.model.d_model;
  const Layer logit = linear(build,
                             {.name = "shared gate",
                              .parameter = "shared_gate",
                              .inputs = width,
                              .outputs = 1,
                              .bias = false,
                              .wide_output = true},
                             x);
  const TensorId factor = build.wide("shared_gate_factor", 1);
  build.op(Sigmoid{}, "shared gate sigmoid", {logit.output}, {factor});
  const TensorId y = build.activation("gated_shared", width);
  build.op(ScaleRows{}, "shared gated", {f.output, factor}, {y});
  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_output = build.activation("d_gated_shared", width),
                   d_factor = build.wide("d_shared_gate_factor", 1),
                   d_logit = build.wide("d_shared_gate_logit", 1);
    build.op(ScaleRowsGradient{}, "shared gated gradient", {dy, f.output, factor},
             {d_output, d_factor});
    build.op(SigmoidGradient{}, "shared gate sigmoid gradient", {d_factor, logit.output},
             {d_logit});
    const TensorId d_by_gate = logit.backward(d_logit), d_by_experts = f.backward(d_output);
    return add(build, "shared gate input gradient", "d_input.gated_shared", d_by_gate,
               d_by_experts);
  };
  return {y, backward};
}

/// Shared experts are one dense network as wide as all of them together. Every rank has it for its
/// own tokens, or a part of it where ranks share dense matrices (TP). ESP does not cut it, since
/// tokens are not sent to shared experts.
Layer shared_experts(LayerBuilder& build, TensorId x) {
  const Layer experts =
      feed_forward(build, x, "shared", build.model.shared_experts * expert_hidden(build.model));
  return build.model.shared_expert_gate ? gated(build, x, experts) : experts;
}

Layer with_shared_experts(LayerBuilder& build, TensorId x) {
  const Layer routed = mixture_of_experts(build, x);
  const Layer shared = shared_experts(build, x);
  const TensorId y = add(build, "shared experts", "with_shared", routed.output, shared.output);
  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_shared = shared.backward(dy);
    return add(build, "shared experts gradient", "d_with_shared", routed.backward(dy), d_shared);
  };
  return {y, backward};
}

Layer network(LayerBuilder& build, TensorId x) {
  if (!has_experts(build.model, build.block)) {
    return feed_forward(build, x, "ffn", build.model.d_hidden);
  }
  return build.model.shared_experts > 0 ? with_shared_experts(build, x)
                                        : mixture_of_experts(build, x);
}

/// What a layer adds to the rows between blocks, with its norm. `part` names its ops.
Layer added(LayerBuilder& build, TensorId x, const std::string& part, const std::string& parameter,
            Layer (*layer)(LayerBuilder& build, TensorId x)) {
  const bool is_before = norms_before(build.model);
  const double factor = residual_factor(build.model);
  const auto normed = [&](TensorId rows) { return norm(build, part + " norm", parameter, rows); };
  const Layer first = is_before ? normed(x) : layer(build, x);
  const Layer second = is_before ? layer(build, first.output) : normed(first.output);
  const auto backward = [=, &build](TensorId dy) {
    return first.backward(second.backward(scaled(build, part + " gradient", dy, factor)));
  };
  return {scaled(build, part, second.output, factor), backward};
}

}  // namespace

Layer block(LayerBuilder& build, TensorId x) {
  const Layer attended = added(build, x, "attention", "norm1", attention);
  const TensorId middle = add(build, "attention residual", "middle", x, attended.output);
  const Layer after = added(build, middle, "ffn", "norm2", network);
  const TensorId y = add(build, "ffn residual", "output", middle, after.output);

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_network = after.backward(dy);
    const TensorId d_middle = add(build, "ffn residual gradient", "d_middle", dy, d_network);
    const TensorId d_attended = attended.backward(d_middle);
    return add(build, "attention residual gradient", "d_input", d_middle, d_attended);
  };
  return {y, backward};
}

}  // namespace moe
