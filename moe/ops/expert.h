#pragma once

#include "moe/rows/op_facts.h"

/// Ops on received rows (gathered ones, where ranks share experts), which lie expert by expert: R rows, D
/// experts of this rank, then G replicas where a layer has any (expert_slots.h), I and O the widths of a linear layer of
/// each.
namespace moe {

/// x[R,I], weight[D*I,O], (bias[D,O]), (weight[G*I,O] and bias[G,O] of replicas) -> y[R,O] (one slice): y = x W_d +
/// bias_share b_d for the rows of expert d. Ranks that add up their y to the whole have a share of the bias each.
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
/// x[R,I], dy[R,O], (what is written, where `accumulate`) -> d_weight[D*I,O], (d_bias[D,O]) (one slice of
/// the rows) of D experts from the first_slot-th on: of this rank, or its replicas
struct ExpertLinearWeightGradient {
  static constexpr OpFacts facts =
      kernel_op("expert_linear_weight_gradient", CostUnit::flops,
                {Cut::rows, Cut::rows, Cut::whole, Cut::whole}, {Cut::sum, Cut::sum});
  int local_experts = 1;
  bool accumulate = false;
  int first_slot = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
