#include "moe/model/gates/top_k.h"

#include "moe/model/layers/linear.h"

namespace moe {

Layer gate_logits(LayerBuilder& build, TensorId x) {
  return linear(build,
                {.name = "gate logits",
                 .parameter = "gate",
                 .inputs = build.model.d_model,
                 .outputs = build.model.experts,
                 .bias = false},
                x);
}

TopK select_top_k(LayerBuilder& build, TensorId ranking, TensorId scores, bool normalize) {
  const Model& model = build.model;
  const int experts = model.experts, choices = model.choices;
  TopK top;
  top.expert = build.integers("expert", build.tokens, choices);
  top.weight = build.activation("gate_weight", choices);
  top.slot = build.integers("slot", build.tokens, choices);
  top.offsets = build.integers("offsets", 1, experts + 1);
  const TensorId demand = build.integers("demand", 1, experts);
  build.op(
      SelectExperts{experts, choices, normalize, build.capacity_groups_of_rank(), build.capacity()},
      "gate", {ranking, scores}, {top.expert, top.weight, top.slot, top.offsets, demand});
  top.total_demand = build.integers("total_demand", 1, experts);
  build.op(ExchangeCounts{experts}, "exchange counts", {top.offsets, demand}, {top.total_demand},
           Stream::host);
  const TensorId loss = build.result("auxiliary_loss");
  build.program().auxiliary_losses.push_back(loss);
  build.op(LoadBalancingLoss{experts, choices, build.global_tokens}, "load balancing loss",
           {scores, top.total_demand}, {loss});
  return top;
}

}  // namespace moe
