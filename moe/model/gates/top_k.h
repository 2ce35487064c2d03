#pragma once

#include "moe/model/layer_builder.h"

/// What gates share that give every token its k best experts.
namespace moe {

/// x[T,M] -> logits[T,E], without bias.
Layer gate_logits(LayerBuilder& build, TensorId x);

struct TopK {
  TensorId expert = -1, weight = -1, slot = -1, offsets = -1;  ///< as GateOutput
  TensorId total_demand = -1;                                  ///< i32[1,E], over all ranks
};

/// SelectExperts with the model's k and capacity, the exchange of counts, and the load-balancing loss
/// of `scores`, which joins Program::auxiliary_losses.
TopK select_top_k(LayerBuilder& build, TensorId ranking, TensorId scores, bool normalize);

}  // namespace moe
