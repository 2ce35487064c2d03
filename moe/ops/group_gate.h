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

/// logits[T,E] -> ranking[T,E], token_factor[T,1], expert_factor[groups,E]
/// ranking = logits + log b: for each token in the order of a e^logits b, the matrix of its group
/// whose rows and columns are balanced by turns, `rounds` times, by Sinkhorn's iteration, where b
/// begins as 1:
///   a_t = 1 / (n sum_e b_e e^l_te),  b_e = 1 / (E (sum_t a_t e^l_te + 1e-8))
/// for n tokens of a group and E experts. The factors are a, with the token's largest e^l taken
/// out, and b. rounds = 0 leaves the logits as they are.  [Megatron-LM, whose 1e-8 it is; Clark et
/// al. 2022]
struct BalanceRanking {
  static constexpr OpFacts facts =
      kernel_op("balance_ranking", CostUnit::bytes, {wide(Cut::whole)},
                {wide(Cut::whole), wide(Cut::whole), wide(Cut::whole)});
  int groups = 1;
  int rounds = 0;
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
