#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// The queries of a sequence that a GPU takes at once: enough for GEMMs to fill it, few enough to
/// skip most scores above the diagonal of long sequences.
inline constexpr std::int64_t kGpuQueryBlock = 512;

/// qkv[T,(heads + 2 key_value_heads) W] -> y[T,heads W], probabilities[T*heads, L]
/// Row (sequence * heads + head) * L + query of the probabilities belongs to that query.
///
/// Causal attention with heads of width W. The columns of qkv hold all heads of q, then those of k,
/// then those of v. heads / key_value_heads consecutive heads of q share a head of k and v
/// [grouped-query attention, Ainslie et al. 2023]; with as many of each it is multi-head attention.
struct Attention {
  static constexpr OpFacts facts =
      kernel_op("attention", CostUnit::flops, {Cut::tokens}, {Cut::tokens, Cut::tokens});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;  ///< a divisor of heads
  Work work(const OpSizes& sizes) const;
};
/// dy[T,heads W], qkv[T,(heads + 2 key_value_heads) W], probabilities[T*heads, L] ->
///     d_qkv like qkv, scratch[key_value_heads*L, L], (sums[key_value_heads*L, 2 W])
/// Where qkv is stored in fewer bits than sums need, the gradients of k and v are added up in
/// `sums`.
struct AttentionGradient {
  static constexpr OpFacts facts =
      kernel_op("attention_gradient", CostUnit::flops, {Cut::whole, Cut::whole, Cut::whole},
                {Cut::whole, Cut::whole, wide(Cut::whole)});
  int heads = 1;
  std::int64_t sequence_length = 0;
  int key_value_heads = heads;  ///< a divisor of heads
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
