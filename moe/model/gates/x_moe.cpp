#include <algorithm>

#include "moe/model/gates/top_k.h"
#include "moe/model/layers/linear.h"

namespace moe {
namespace {

constexpr double kFirstTemperature = 0.3;  ///< Chi et al.'s

}  // namespace

/// The softmax gate on logits_e = cos(x W_proj, v_e) / tau, with v_e the expert's embedding in r dimensions.
/// [Chi et al. 2022, "On the Representation Collapse of Sparse Mixture of Experts"; FSMoE 3.1]
/// r = gate_rank, by default half the number of experts as there. tau is gate_temperature where the model
/// fixes one; otherwise it begins at 0.3 and is learned, here through its logarithm so that it stays
/// positive.
GateOutput x_moe_gate(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const int experts = model.experts;
  const std::int64_t rank = model.gate_rank > 0 ? model.gate_rank : std::max(1, experts / 2);
  const Layer projected = linear(build,
                                 {.name = "gate projection",
                                  .parameter = "gate.projection",
                                  .inputs = model.d_model,
                                  .outputs = rank,
                                  .bias = false},
                                 x);
  const TensorId embeddings = build.weight("gate.weight", experts, rank);
  std::vector<TensorId> parameters{embeddings};
  if (!model.gate_temperature) parameters.push_back(build.bias("gate.log_temperature", 1));
  const double temperature = model.gate_temperature.value_or(kFirstTemperature);
  const TensorId logits = build.activation("gate_logits", experts),
                 lengths = build.activation("gate_lengths", 1),
                 expert_lengths = build.activation("gate_expert_lengths", experts, 1);
  std::vector<TensorId> reads{projected.output};
  reads.insert(reads.end(), parameters.begin(), parameters.end());
  build.op(CosineLogits{temperature}, "gate cosine", reads, {logits, lengths, expert_lengths});

  const auto backward = [=, &build](TensorId d_logits) {
    std::vector<TensorId> kept{d_logits,   logits,  projected.output,
                               embeddings, lengths, expert_lengths};
    kept.insert(kept.end(), parameters.begin() + 1, parameters.end());
    const TensorId d_projected = build.activation("d_gate_projection", rank);
    build.op(CosineLogitsInputGradient{temperature}, "gate cosine dX", kept, {d_projected});
    std::vector<TensorId> gradients;
    for (const TensorId parameter : parameters) gradients.push_back(build.gradient(parameter));
    build.op(CosineLogitsWeightGradient{temperature}, "gate cosine dW", kept, gradients);
    return projected.backward(d_projected);
  };
  return softmax_top_k(build, {logits, backward});
}

}  // namespace moe
