#pragma once

#include <functional>

#include "moe/model/gates/gates.h"

/// What gates share, and those that give every token its k best experts.
namespace moe {

/// x[T,M] -> logits[T,outputs], without bias; as many outputs as experts where they are 0.
Layer gate_logits(LayerBuilder& build, TensorId x, const std::string& parameter = "gate",
                  std::int64_t outputs = 0);

/// offsets i32[1,E+1], demand i32[1,E] -> i32[1,E], what all ranks asked for together.
TensorId exchange_counts(LayerBuilder& build, TensorId offsets, TensorId demand);

struct TopK {
  TensorId expert = -1, weight = -1, slot = -1, offsets = -1;  ///< as GateOutput
  TensorId total_demand = -1;                                  ///< i32[1,E], over all ranks
};

enum class Weights : std::uint8_t {
  scores,  ///< those of the chosen experts; for more than one, over their sum
  even,    ///< 1 / k
};

/// SelectExperts with the model's k, capacity and way to drop, and the exchange of counts.
TopK select_top_k(LayerBuilder& build, TensorId ranking, TensorId scores,
                  Weights weights = Weights::scores);

/// Given a gradient, adds what a loss of the gate adds to it.
using AddGradient = std::function<void(TensorId gradient)>;

/// Of scores[T,E]; joins Program::auxiliary_losses. Adds to d_scores[T,E]. Softmax gates pass over that:
/// SoftmaxGateGradient holds it.
AddGradient load_balancing_loss(LayerBuilder& build, TensorId scores, const TopK& top);

/// Of logits[T,E], where the model weighs one; joins Program::z_losses. Adds to d_logits[T,E].
AddGradient router_z_loss(LayerBuilder& build, TensorId logits);

/// p = softmax(logits); the k experts of largest p, weighted by p for k = 1, by p over the sum of the
/// chosen for more; both losses.
GateOutput softmax_top_k(LayerBuilder& build, const Layer& logits);

/// The gradient of sigmoid scores by which experts have been chosen, with respect to the logits.
/// `add_losses` adds to that of the scores.
TensorId sigmoid_gate_gradient(LayerBuilder& build, TensorId d_weight, const TopK& top,
                               TensorId scores, TensorId logits, const AddGradient& add_losses);

}  // namespace moe
