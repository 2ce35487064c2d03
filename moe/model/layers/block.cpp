#include "moe/model/layers/block.h"

#include "moe/model/layers/attention.h"
#include "moe/model/layers/feed_forward.h"
#include "moe/model/layers/mixture_of_experts.h"
#include "moe/model/layers/norm.h"

namespace moe {
namespace {

TensorId add(LayerBuilder& build, const std::string& op_name, const std::string& tensor_name,
             TensorId a, TensorId b) {
  const TensorId sum = build.activation(tensor_name, build.model.d_model);
  build.op(Add{}, op_name, {a, b}, {sum});
  return sum;
}

/// Shared experts are a dense network as wide as all of them together. Every rank has all of it for
/// its own tokens, or a share of it where ranks share dense matrices (TP). ESP does not cut it:
/// that cuts experts to which tokens travel.
Layer with_shared_experts(LayerBuilder& build, TensorId x) {
  const Layer routed = mixture_of_experts(build, x);
  const Layer shared =
      feed_forward(build, x, "shared", build.model.shared_experts * expert_hidden(build.model));
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

}  // namespace

Layer block(LayerBuilder& build, TensorId x) {
  const Layer norm1 = norm(build, "attention norm", "norm1", x);
  const Layer attended = attention(build, norm1.output);
  const TensorId middle = add(build, "attention residual", "middle", x, attended.output);
  const Layer norm2 = norm(build, "ffn norm", "norm2", middle);
  const Layer after = network(build, norm2.output);
  const TensorId y = add(build, "ffn residual", "output", middle, after.output);

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_network = norm2.backward(after.backward(dy));
    const TensorId d_middle = add(build, "ffn residual gradient", "d_middle", dy, d_network);
    const TensorId d_attended = norm1.backward(attended.backward(d_middle));
    return add(build, "attention residual gradient", "d_input", d_middle, d_attended);
  };
  return {y, backward};
}

}  // namespace moe
