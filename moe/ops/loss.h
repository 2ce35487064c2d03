#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// logits[T,V], targets i32[T] -> loss[1,1] (this rank's share of the global mean), log_sum_exp[T]
struct CrossEntropy {
  static constexpr OpFacts facts = kernel_op("cross_entropy", CostUnit::bytes,
                                             {Cut::whole, Cut::whole}, {Cut::whole, Cut::whole});
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};
/// logits[T,V], targets i32[T], log_sum_exp[T] -> d_logits[T,V], scaled by 1 / global_tokens
struct CrossEntropyGradient {
  static constexpr OpFacts facts = kernel_op("cross_entropy_gradient", CostUnit::bytes,
                                             {Cut::rows, Cut::rows, Cut::rows}, {Cut::rows});
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
