#pragma once

#include "moe/rows/op_facts.h"

/// Ops on received rows (on gathered rows, where ranks share experts), which lie expert by expert.
/// R rows; D slots for the experts at home on this rank, then G slots for replicas where the layer
/// has any (expert_slots.h); I and O are the widths of a linear layer of an expert. An empty slot
/// has no rows: nothing is read there, and its gradient is zero.
namespace moe {

/// x[R,I], weight[D*I,O], (bias[D,O]), (weight[G*I,O] and bias[G,O] of replicas) -> y[R,O] (one
/// slice): y = x W_d + bias_share b_d for the rows of expert d. Where ranks add up their y, each of
/// them adds a share of the bias.
struct ExpertLinear {
  static constexpr OpFacts facts =
      kernel_op("expert_linear", CostUnit::flops,
                {Cut::rows, Cut::whole, Cut::whole, Cut::whole, Cut::whole}, {Cut::rows});
  int local_experts = 1;
  double bias_share = 1;
  int replica_slots = 0;
  Work work(const OpSizes& sizes) const;
};
/// dy[R,O], weight[D*I,O], (weight[G*I,O] of replicas) -> dx[R,I] (one slice)
struct ExpertLinearInputGradient {
  static constexpr OpFacts facts = kernel_op("expert_linear_input_gradient", CostUnit::flops,
                                             {Cut::rows, Cut::whole, Cut::whole}, {Cut::rows});
  int local_experts = 1;
  int replica_slots = 0;
  Work work(const OpSizes& sizes) const;
};
/// x[R,I], dy[R,O], (the gradients where `accumulate`) -> d_weight[D*I,O], (d_bias[D,O]) (one slice
/// of the rows), for the D experts in the slots from first_slot on: the rank's own, or its replicas
struct ExpertLinearWeightGradient {
  static constexpr OpFacts facts = kernel_op(
      "expert_linear_weight_gradient", CostUnit::flops,
      {Cut::rows, Cut::rows, wide(Cut::whole), wide(Cut::whole)}, {wide(Cut::sum), wide(Cut::sum)});
  int local_experts = 1;
  bool accumulate = false;
  int first_slot = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
