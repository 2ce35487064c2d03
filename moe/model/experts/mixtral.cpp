#include "moe/model/experts/experts.h"

namespace moe {
namespace {

/// Up twice, one of them a gate of the other, and down.
template <class Gated, class GatedGradient>
NetworkPart gated_network(const NetworkBuilder& net, const std::string& what, TensorId x) {
  const NetworkPart gate = net.up("gate", x), up = net.up("up", x);
  const TensorId gated = net.hidden_rows("gated");
  net.op(Gated{}, what, {gate.output, up.output}, {gated});
  const NetworkPart down = net.down("down", gated);
  const auto backward = [=](TensorId dy, const WeightGradients& weights) {
    const TensorId d_gated = down.backward(dy, weights);
    const TensorId d_gate = net.hidden_rows("d_gate"), d_up = net.hidden_rows("d_up");
    net.op(GatedGradient{}, what + " gradient", {d_gated, gate.output, up.output}, {d_gate, d_up});
    const TensorId dx = net.model_rows("d_input");
    net.op(Add{}, "input gradient", {gate.backward(d_gate, weights), up.backward(d_up, weights)},
           {dx});
    return dx;
  };
  return {down.output, backward};
}

}  // namespace

/// y = (silu(x G) * (x U)) D without biases, with G[M,H], U[M,H] and D[H,M].  [Named in FSMoE 3.1;
/// Mixtral calls the matrices W1, W3 and W2]
NetworkPart mixtral_network(const NetworkBuilder& net, TensorId x) {
  return gated_network<GatedSilu, GatedSiluGradient>(net.without_biases(), "gated silu", x);
}

/// y = ((x U + u) clamped + 1) g / (1 + e^(-1.702 g)) D + d, g = x G + c up to 7.  [GPT-OSS]
NetworkPart gpt_oss_network(const NetworkBuilder& net, TensorId x) {
  return gated_network<ClampedSwiglu, ClampedSwigluGradient>(net, "clamped swiglu", x);
}

}  // namespace moe
