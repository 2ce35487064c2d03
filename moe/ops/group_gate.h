#pragma once

#include "moe/rows/op_facts.h"

/// Ops of gates that look at all tokens of a capacity group at once. T tokens of this rank in
/// `groups` equal groups of n; E experts, each with c `slots` in every group.
namespace moe {

/// scores[T,E] -> expert i32[T,E], weight[T,E], slot i32[T,E], offsets i32[1,E+1], demand i32[1,E]
/// In every group each expert takes the c tokens of highest score (ties: the earlier token). Column
/// e belongs to expert e: weight = its score; slot = position among the tokens that it takes on
/// this rank, in token order, -1 where it does not take the token. demand = the number of tokens
/// taken.  [Zhou et al. 2022, Expert Choice]
struct ChooseTokens {
  static constexpr OpFacts facts =
      kernel_op("choose_tokens", CostUnit::bytes, {wide(Cut::whole)},
                {integers(Cut::whole), wide(Cut::whole), integers(Cut::whole), integers(Cut::whole),
                 integers(Cut::whole)});
  int experts = 0;
  std::int64_t slots = 1;
  int groups = 1;
  Work work(const OpSizes& sizes) const;
};

/// logits[T,E*c] -> dispatch[S,n], combine[S,n], offsets i32[1,E+1], demand i32[1,E],
///     where S = E*groups*c
/// Row (e * groups + g) * c + s of a mask is slot s of expert e in group g; its logits are in
/// column e * c + s. dispatch is the softmax over the tokens of the group, so that each row adds up
/// to 1. combine is the softmax over all slots, so that each token adds up to 1. [Puigcerver et al.
/// 2023, D and C of Soft MoE]
struct SoftSlots {
  static constexpr OpFacts facts =
      kernel_op("soft_slots", CostUnit::bytes, {wide(Cut::whole)},
                {Cut::whole, Cut::whole, integers(Cut::whole), integers(Cut::whole)});
  int experts = 0;
  std::int64_t slots = 1;
  int groups = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_dispatch[S,n], d_combine[S,n], dispatch[S,n], combine[S,n] -> d_logits[T,E*c]
struct SoftSlotsGradient {
  static constexpr OpFacts facts =
      kernel_op("soft_slots_gradient", CostUnit::bytes,
                {Cut::whole, Cut::whole, Cut::whole, Cut::whole}, {wide(Cut::whole)});
  int experts = 0;
  std::int64_t slots = 1;
  int groups = 1;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
