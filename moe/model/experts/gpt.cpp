#include "moe/model/experts/experts.h"

namespace moe {

/// y = a(x U + u) D + d with a = GELU or ReLU, U[M,H] and D[H,M].  [FSMoE 3.1 names it, of GPT-3]
NetworkPart gpt_network(const NetworkBuilder& net, TensorId x) {
  const NetworkPart up = net.up("up", x);
  const NetworkPart activated = net.activation(up.output);
  const NetworkPart down = net.down("down", activated.output);
  const auto backward = [=](TensorId dy, const WeightGradients& weights) {
    const TensorId d_activated = down.backward(dy, weights);
    return up.backward(activated.backward(d_activated, weights), weights);
  };
  return {down.output, backward};
}

}  // namespace moe
