#pragma once

#include "moe/program/op_facts.h"

/// Ops on received rows (gathered ones, where ranks share experts), which lie expert by expert: R rows, D
/// local experts, I and O the widths of a linear layer of each.
namespace moe {

/// x[R,I], weight[D*I,O], (bias[D,O]) -> y[R,O] (one slice): y = x W_d + bias_share b_d for the rows of local
/// expert d. Ranks that add up their y to the whole have a share of the bias each.
struct ExpertLinear {
  static constexpr OpFacts facts =
      kernel_op("expert_linear", CostUnit::flops, {Cut::rows, Cut::whole, Cut::whole}, {Cut::rows});
  int local_experts = 1;
  double bias_share = 1;
  Work work(const OpSizes& sizes) const;
};
/// dy[R,O], weight[D*I,O] -> dx[R,I] (one slice)
struct ExpertLinearInputGradient {
  static constexpr OpFacts facts = kernel_op("expert_linear_input_gradient", CostUnit::flops,
                                             {Cut::rows, Cut::whole}, {Cut::rows});
  int local_experts = 1;
  Work work(const OpSizes& sizes) const;
};
/// x[R,I], dy[R,O], (what is written, where `accumulate`) -> d_weight[D*I,O], (d_bias[D,O]) (one slice of
/// the rows)
struct ExpertLinearWeightGradient {
  static constexpr OpFacts facts =
      kernel_op("expert_linear_weight_gradient", CostUnit::flops,
                {Cut::rows, Cut::rows, Cut::whole, Cut::whole}, {Cut::sum, Cut::sum});
  int local_experts = 1;
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
