#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// q[T,heads W], kv[T,key_value_heads (N + V)], shared_key[T,R] ->
///     qkv[T,(heads + key_value_heads) W + key_value_heads V], with W = R + N
/// The columns that attention reads: all heads of q as they are, those of k, then those of v. Every
/// head of k has the shared key first; of kv a head has its other N columns, then its V of values.
/// N may be 0  [multi-head latent attention, DeepSeek-V2, Eqs. 9 to 16, with turned columns first]
struct JoinHeads {
  static constexpr OpFacts facts =
      kernel_op("join_heads", CostUnit::bytes, {Cut::rows, Cut::rows, Cut::rows}, {Cut::rows});
  int heads = 1;
  int key_value_heads = heads;
  Work work(const OpSizes& sizes) const;
};
/// d_qkv -> d_q, d_kv, d_shared_key, the last the sum over heads of k
struct JoinHeadsGradient {
  static constexpr OpFacts facts = kernel_op("join_heads_gradient", CostUnit::bytes, {Cut::rows},
                                             {Cut::rows, Cut::rows, Cut::rows});
  int heads = 1;
  int key_value_heads = heads;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
