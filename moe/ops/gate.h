#pragma once

#include <optional>

#include "moe/program/op_facts.h"

/// Ops that gates are made of (model/gates): T tokens of this rank, E experts, k choices per token.
namespace moe {

/// logits[T,E] -> probabilities[T,E]
struct Softmax {
  static constexpr OpFacts facts = kernel_op("softmax", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};

/// ranking[T,E], scores[T,E] -> expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1],
///                              demand i32[1,E]
/// The k experts of highest ranking are chosen (ties: lower expert first). weight = their scores,
/// divided by the sum of the chosen where `normalize`. Tokens form `capacity_groups` equal groups; in
/// each group an expert takes at most `capacity` copies, all first choices before all second
/// choices, tokens in order. slot = position among the copies kept for that expert on this rank, in
/// token order; -1 when dropped. offsets = exclusive prefix sum of kept copies per expert; demand =
/// copies asked for before dropping.
struct SelectExperts {
  static constexpr OpFacts facts =
      kernel_op("select_experts", CostUnit::bytes, {Cut::whole, Cut::whole},
                {Cut::whole, Cut::whole, Cut::whole, Cut::whole, Cut::whole});
  int experts = 0;
  int choices = 1;
  bool normalize = false;
  int capacity_groups = 1;                 ///< of this rank's tokens
  std::optional<std::int64_t> capacity{};  ///< copies per expert and group; none = dropless
  Work work(const OpSizes& sizes) const;
};
/// d_weight[T,k], scores[T,E], expert i32[T,k], weight[T,k] -> d_scores[T,E], zero where not chosen
struct SelectExpertsGradient {
  static constexpr OpFacts facts =
      kernel_op("select_experts_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, Cut::rows, Cut::rows}, {Cut::rows});
  int experts = 0;
  int choices = 1;
  bool normalize = false;
  Work work(const OpSizes& sizes) const;
};
/// d_weight[T,k], probabilities[T,E], expert i32[T,k], weight[T,k], total_demand i32[1,E] ->
/// d_logits[T,E]: the gradients of SelectExperts, LoadBalancingLoss and Softmax in one pass.
struct SoftmaxGateGradient {
  static constexpr OpFacts facts =
      kernel_op("softmax_gate_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, Cut::rows, Cut::rows, Cut::whole}, {Cut::rows});
  int experts = 0;
  int choices = 1;
  double auxiliary_weight = 0;  ///< factor of the load-balancing loss in the total loss
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};

/// scores[T,E], total_demand i32[1,E] -> loss[1,1]: this rank's share of
/// E * sum_e f_e P_e with f_e = share of all copies that asked for e, P_e = mean score, both over
/// all ranks; the sum over ranks is the loss. (Switch/GShard form, f over all k choices.)
struct LoadBalancingLoss {
  static constexpr OpFacts facts =
      kernel_op("load_balancing_loss", CostUnit::bytes, {Cut::whole, Cut::whole}, {Cut::whole});
  int experts = 0;
  int choices = 1;
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};
/// total_demand i32[1,E], d_scores[T,E] -> d_scores[T,E], its gradient added
struct LoadBalancingLossGradient {
  static constexpr OpFacts facts = kernel_op("load_balancing_loss_gradient", CostUnit::bytes,
                                             {Cut::whole, Cut::rows}, {Cut::rows});
  int experts = 0;
  int choices = 1;
  double auxiliary_weight = 0;
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
