#include <array>

#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

constexpr std::string_view kSoftmax = "softmax";
std::vector<std::string_view> names_of_adjusted_scores() { return {"sigmoid", kSoftmax}; }

constexpr std::array kBiasAdjustedKeys{
    own_key(
        KeyKind::training, "bias_speed", kFromZero, [](const Model&) -> KeyValue { return 1e-3; },
        "How far an iteration moves the bias of an expert."),  // [DeepSeek-V3 4.2]
    own_key(
        KeyKind::function, "adjusted_scores", WordRange{names_of_adjusted_scores},
        [](const Model&) -> KeyValue { return std::string("sigmoid"); },
        "What the bias is added to, and weights are made of.")};  // softmax: [ERNIE 4.5]
constexpr const ModelKey& kBiasSpeed = kBiasAdjustedKeys[0];
constexpr const ModelKey& kAdjustedScores = kBiasAdjustedKeys[1];

/// s = 1 / (1 + e^-xW); the k experts of largest s + b, weighted by s alone as the sigmoid gate
/// does; or s = softmax(xW), as ERNIE 4.5 has it. After every iteration b moves by bias_speed
/// towards even loads: it rises where fewer copies asked for the expert than for the mean expert,
/// over all ranks and before drops, and falls where more did.
/// No auxiliary loss. [DeepSeek-V3, Eqs. 12 to 16 and 2.1.2; Wang et al. 2024, Algorithm 1. The
/// sequence-wise loss that DeepSeek-V3 adds with a weight of 1e-4 is left out.]
GateOutput build_bias_adjusted(LayerBuilder& build, TensorId x) {
  const int experts = build.model.experts;
  const Layer logits = gate_logits(build, x);
  const bool softmax = own_value(kAdjustedScores, build.model) == KeyValue(std::string(kSoftmax));
  const Scores kind = softmax ? Scores::softmax : Scores::sigmoid;
  const TensorId scores = gate_scores(build, kind, logits.output);
  const TensorId bias = build.adjusted("gate.expert_bias", experts),
                 ranking = build.wide("gate_ranking", experts);
  build.op(AddExpertBias{}, "gate bias", {scores, bias}, {ranking});
  const TopK top = select_top_k(build, ranking, scores);
  const AddGradient add_z_loss = router_z_loss(build, logits.output);
  const TensorId loads = build.gradient(bias);  // they decide how the bias moves
  const auto adjust = [&build, bias, loads] {
    build.op(AdjustExpertBias{own_number(kBiasSpeed, build.model)}, "adjust expert bias",
             {loads, bias}, {bias});
  };
  build.updates.push_back({build.stage, adjust});

  const auto backward = [=, &build](TensorId d_weight) {
    build.op(SumExpertLoads{}, "sum expert loads", {top.total_demand}, {loads});
    const TensorId d_logits =
        gate_scores_gradient(build, kind, d_weight, top, scores, logits.output);
    add_z_loss(d_logits);
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

}  // namespace

Gate bias_adjusted_gate() {
  return {.description = "scores with a bias that evens loads out (DeepSeek-V3, ERNIE 4.5)",
          .facts = {.balances = false},
          .keys = kBiasAdjustedKeys,
          .build = build_bias_adjusted};
}

}  // namespace moe
