#pragma once

#include <functional>

#include "moe/model/gates/gates.h"

/// Functions that gates share, and gates that give every token its k best experts.
namespace moe {

/// x[T,M] -> logits[T,outputs], without bias. outputs = 0 stands for the number of experts.
Layer gate_logits(LayerBuilder& build, TensorId x, const std::string& parameter = "gate",
                  std::int64_t outputs = 0);

/// offsets i32[1,E+1], demand i32[1,E] -> i32[1,E], the demand of all ranks together. Where rows
/// are padded, none of them waits for it.
TensorId exchange_counts(LayerBuilder& build, TensorId offsets, TensorId demand);

/// offsets i32[1,E+1] as they are, or i32[2,E+1] where rows are padded (ops/padding.h).
TensorId padded_offsets(LayerBuilder& build, TensorId offsets);

struct TopK {
  TensorId expert = -1, weight = -1, slot = -1, offsets = -1;  ///< the members of GateOutput
  TensorId total_demand = -1;                                  ///< i32[1,E], over all ranks
};

enum class Weights : std::uint8_t {
  scores,  ///< the scores of the chosen experts, divided by their sum where k > 1
  even,    ///< 1 / k
};

/// SelectExperts with the model's k, capacity and order of dropping, and the exchange of counts.
TopK select_top_k(LayerBuilder& build, TensorId ranking, TensorId scores,
                  Weights weights = Weights::scores);

/// Adds to a gradient the gradient of a loss of the gate.
using AddGradient = std::function<void(TensorId gradient)>;

/// The load-balancing loss of scores[T,E], one of Program::auxiliary_losses. Its gradient is added
/// to d_scores[T,E]; softmax gates do not use it, since SoftmaxGateGradient includes it.
/// `normalize`: scores do not add up to 1, and a token's are divided by their sum. Else the loss
/// would fall with all of them alike, however uneven the loads.
AddGradient load_balancing_loss(LayerBuilder& build, TensorId scores, const TopK& top,
                                bool normalize = false);

/// The router z-loss of logits[T,E], where the model has one, one of Program::z_losses. Its
/// gradient is added to d_logits[T,E].
AddGradient router_z_loss(LayerBuilder& build, TensorId logits);

/// The softmax gate: p = softmax(logits). Chooses the k experts of largest p, weighted by p for k =
/// 1 and by p over the sum of the chosen p for k > 1. Has both losses.
GateOutput softmax_top_k(LayerBuilder& build, const Layer& logits);

/// The gradient with respect to the logits, where experts are weighted by their probabilities. That
/// of the load-balancing loss is in it.
TensorId softmax_gate_gradient(LayerBuilder& build, TensorId d_weight, const TopK& top,
                               TensorId probabilities, double auxiliary_weight);

/// The scores of experts that logits are made into.
enum class Scores : std::uint8_t { sigmoid, softmax };
TensorId gate_scores(LayerBuilder& build, Scores kind, TensorId logits);
/// The gradient with respect to the logits, where experts are weighted by such scores and have no
/// load-balancing loss.
TensorId gate_scores_gradient(LayerBuilder& build, Scores kind, TensorId d_weight, const TopK& top,
                              TensorId scores, TensorId logits);

/// The gradient with respect to the logits, where experts were chosen by sigmoid scores.
/// `add_losses` adds to the gradient of the scores.
TensorId sigmoid_gate_gradient(LayerBuilder& build, TensorId d_weight, const TopK& top,
                               TensorId scores, TensorId logits, const AddGradient& add_losses);

}  // namespace moe
