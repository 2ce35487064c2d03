#include "moe/model/experts/experts.h"

namespace moe {

/// y = (silu(x G) * (x U)) D without biases, G[M,H], U[M,H] and D[H,M].  [FSMoE 3.1 names it, of
/// Mixtral, which calls them W1, W3 and W2]
NetworkPart mixtral_network(const NetworkBuilder& builder, TensorId x) {
  const NetworkBuilder net = builder.without_biases();
  const NetworkPart gate = net.up("gate", x), up = net.up("up", x);
  const TensorId gated = net.hidden_rows("gated");
  net.op(GatedSilu{}, "gated silu", {gate.output, up.output}, {gated});
  const NetworkPart down = net.down("down", gated);
  const auto backward = [=](TensorId dy, const WeightGradients& weights) {
    const TensorId d_gated = down.backward(dy, weights);
    const TensorId d_gate = net.hidden_rows("d_gate"), d_up = net.hidden_rows("d_up");
    net.op(GatedSiluGradient{}, "gated silu gradient", {d_gated, gate.output, up.output},
           {d_gate, d_up});
    const TensorId dx = net.model_rows("d_input");
    net.op(Add{}, "input gradient", {gate.backward(d_gate, weights), up.backward(d_up, weights)},
           {dx});
    return dx;
  };
  return {down.output, backward};
}

}  // namespace moe
