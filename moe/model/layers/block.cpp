#include "moe/model/layers/block.h"

#include "moe/model/layers/attention.h"
#include "moe/model/layers/feed_forward.h"
#include "moe/model/layers/layer_norm.h"
#include "moe/model/layers/mixture_of_experts.h"

namespace moe {
namespace {

TensorId add(LayerBuilder& build, const std::string& op_name, const std::string& tensor_name,
             TensorId a, TensorId b) {
  const TensorId sum = build.activation(tensor_name, build.model.d_model);
  build.op(Add{}, op_name, {a, b}, {sum});
  return sum;
}

}  // namespace

bool has_experts(const Model& model, int block) {
  return model.moe_every > 0 && (block + 1) % model.moe_every == 0;
}

Layer block(LayerBuilder& build, TensorId x) {
  const Layer norm1 = layer_norm(build, "attention norm", "norm1", x);
  const Layer attended = attention(build, norm1.output);
  const TensorId middle = add(build, "attention residual", "middle", x, attended.output);
  const Layer norm2 = layer_norm(build, "ffn norm", "norm2", middle);
  const Layer network = has_experts(build.model, build.block)
                            ? mixture_of_experts(build, norm2.output)
                            : feed_forward(build, norm2.output);
  const TensorId y = add(build, "ffn residual", "output", middle, network.output);

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_network = norm2.backward(network.backward(dy));
    const TensorId d_middle = add(build, "ffn residual gradient", "d_middle", dy, d_network);
    const TensorId d_attended = norm1.backward(attended.backward(d_middle));
    return add(build, "attention residual gradient", "d_input", d_middle, d_attended);
  };
  return {y, backward};
}

}  // namespace moe
