#pragma once

#include "moe/rows/op_facts.h"

/// Ops on a bias per expert that affects only the choice of experts. E experts.
namespace moe {

/// scores[T,E], bias[1,E] -> ranking[T,E] = scores + bias
struct AddExpertBias {
  static constexpr OpFacts facts = kernel_op(
      "add_expert_bias", CostUnit::bytes, {wide(Cut::rows), wide(Cut::whole)}, {wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};
/// total_demand i32[1,E], (loads[1,E] where `accumulate`) -> loads[1,E], summed over micro-batches.
/// The numbers are whole and exact up to 2^24 in float
struct SumExpertLoads {
  static constexpr OpFacts facts =
      kernel_op("sum_expert_loads", CostUnit::bytes, {integers(Cut::whole), wide(Cut::whole)},
                {wide(Cut::sum)});
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};
/// loads[1,E], bias[1,E] -> bias[1,E]: bias_e += speed sign(mean of loads - loads_e)
struct AdjustExpertBias {
  static constexpr OpFacts facts =
      kernel_op("adjust_expert_bias", CostUnit::bytes, {wide(Cut::whole), wide(Cut::whole)},
                {wide(Cut::whole)});
  double speed = 1e-3;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
