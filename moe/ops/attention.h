#pragma once

#include "moe/program/op_facts.h"

namespace moe {

/// qkv[T,3M] -> y[T,M], probabilities[T*heads, L] (row = (sequence * heads + head) * L + query)
/// Causal multi-head attention; q, k, v are columns [0,M), [M,2M), [2M,3M), heads side by side in
/// each.
struct Attention {
  static constexpr OpFacts facts =
      kernel_op("attention", CostUnit::flops, {Cut::whole}, {Cut::whole, Cut::whole});
  int heads = 1;
  std::int64_t sequence_length = 0;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], qkv[T,3M], probabilities[T*heads, L] -> d_qkv[T,3M], scratch[heads*L, L]
struct AttentionGradient {
  static constexpr OpFacts facts =
      kernel_op("attention_gradient", CostUnit::flops, {Cut::whole, Cut::whole, Cut::whole},
                {Cut::whole, Cut::whole});
  int heads = 1;
  std::int64_t sequence_length = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
