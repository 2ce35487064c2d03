#include <algorithm>
#include <array>

#include "moe/model/gates/top_k.h"
#include "moe/model/layers/linear.h"
#include "moe/model/limits.h"

namespace moe {
namespace {

constexpr double kFirstTemperature = 0.3;  ///< Chi et al.'s

constexpr std::array kXMoeKeys{
    own_key(
        // In one dimension a cosine is 1 or -1, and nothing is learnt.
        KeyKind::tensors, "gate_rank", IntegerRange{2, kMostWidth},
        [](const Model& model) -> KeyValue { return std::int64_t{std::max(2, model.experts / 2)}; },
        "Dimensions in which tokens and experts are compared.",
        "experts / 2, at least 2"),  // [Chi et al.]
    own_key(
        KeyKind::tensors, "gate_temperature", or_word(kAboveZero, "learned"),
        [](const Model&) -> KeyValue { return "learned"; },
        "Divisor of the cosines; a learned one begins at 0.3.")};
constexpr const ModelKey& kGateRank = kXMoeKeys[0];
constexpr const ModelKey& kGateTemperature = kXMoeKeys[1];

/// The softmax gate on logits_e = cos(x W_proj, v_e) / tau, with v_e the expert's embedding in r
/// dimensions. [Chi et al. 2022, "On the Representation Collapse of Sparse Mixture of Experts";
/// FSMoE 3.1] r = gate_rank. tau = gate_temperature; a learned one is learned through its
/// logarithm, so that it stays positive.
GateOutput build_x_moe(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const int experts = model.experts;
  const std::int64_t rank = own_integer(kGateRank, model);
  const Layer projected = linear(build,
                                 {.name = "gate projection",
                                  .parameter = "gate.projection",
                                  .inputs = model.d_model,
                                  .outputs = rank,
                                  .bias = false,
                                  .wide_output = true},
                                 x);
  const TensorId embeddings = build.wide_parameter("gate.weight", experts, rank, Initial::normal,
                                                   LayerBuilder::kInitialDeviation);
  std::vector<TensorId> parameters{embeddings};
  const std::optional<double> fixed = own_optional_number(kGateTemperature, model);
  if (!fixed) {
    parameters.push_back(build.wide_parameter("gate.log_temperature", 1, 1, Initial::zero));
  }
  const double temperature = fixed.value_or(kFirstTemperature);
  const TensorId logits = build.wide("gate_logits", experts),
                 lengths = build.wide("gate_lengths", 1),
                 expert_lengths = build.wide("gate_expert_lengths", experts, 1);
  std::vector<TensorId> reads{projected.output};
  reads.insert(reads.end(), parameters.begin(), parameters.end());
  build.op(CosineLogits{temperature}, "gate cosine", reads, {logits, lengths, expert_lengths});

  const auto backward = [=, &build](TensorId d_logits) {
    std::vector<TensorId> kept{d_logits,   logits,  projected.output,
                               embeddings, lengths, expert_lengths};
    kept.insert(kept.end(), parameters.begin() + 1, parameters.end());
    const TensorId d_projected = build.wide("d_gate_projection", rank);
    build.op(CosineLogitsInputGradient{temperature}, "gate cosine dX", kept, {d_projected});
    std::vector<TensorId> gradients;
    for (const TensorId parameter : parameters) gradients.push_back(build.gradient(parameter));
    build.op(CosineLogitsWeightGradient{temperature}, "gate cosine dW", kept, gradients);
    return projected.backward(d_projected);
  };
  return softmax_top_k(build, {logits, backward});
}

GateSize x_moe_size(const Model& model) {
  const auto rank = static_cast<double>(own_integer(kGateRank, model));
  const auto d_model = static_cast<double>(model.d_model);
  return {(d_model + model.experts) * rank, rank + model.experts};
}

}  // namespace

Gate x_moe_gate() {
  return {.description =
              "softmax over the cosines between a token and the experts in few dimensions (X-MoE)",
          .keys = kXMoeKeys,
          .build = build_x_moe,
          .size = x_moe_size};
}

}  // namespace moe
