#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "moe/errors.h"
#include "moe/rows/op_facts.h"

/// Ops that gates are made of (model/gates): T tokens of this rank, E experts, k choices per token.
namespace moe {

/// logits[T,E] -> probabilities[T,E]
struct Softmax {
  static constexpr OpFacts facts =
      kernel_op("softmax", CostUnit::bytes, {wide(Cut::rows)}, {wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};

/// dy[n,c], y[n,c] -> dx[n,c] = y (dy - sum over the row of dy y), where y = softmax(x)
struct SoftmaxGradient {
  static constexpr OpFacts facts = kernel_op("softmax_gradient", CostUnit::bytes,
                                             {wide(Cut::rows), wide(Cut::rows)}, {wide(Cut::rows)});
  Work work(const OpSizes& sizes) const;
};

/// The order in which an expert takes the copies of a capacity group. Copies that come when the
/// expert is full are dropped.
enum class Drop : std::uint8_t {
  choice,    ///< all first choices before all second ones, tokens in order  [GShard, Algorithm 1]
  position,  ///< token by token, each with all its choices; this order can be cut into parts
  /// As `choice`, but the tokens by the score of their first choice, the highest first:
  /// batch-prioritized routing  [Riquelme et al. 2021, V-MoE]
  probability,
};
inline constexpr std::array<std::string_view, 3> kDropNames{"choice", "position", "probability"};
constexpr std::string_view drop_name(Drop drop) {
  return kDropNames[static_cast<std::size_t>(drop)];
}

/// ranking[T,E], scores[T,E], (demand, used of the part before where `accumulate`) ->
///     expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1], demand i32[1,E],
///     used i32[1,E]
/// Chooses the k experts of highest ranking (ties: lower expert first). weight = their scores,
/// divided by the sum of the chosen scores where `normalize` and multiplied by `factor`, or 1 / k
/// where `even`. Tokens form
/// `capacity_groups` equal groups; in each group an expert takes at most `capacity` copies, in the
/// order of `drop`. slot = position among the copies kept for that expert on this rank, in token
/// order; -1 where dropped. offsets = exclusive prefix sum of the copies kept per expert. demand =
/// copies asked for, before any are dropped.
///
/// Where the op is cut along the batch (Op::part), a part goes on where the part before it ended:
/// `used` holds, per expert, the copies kept in the capacity group of the next token. The parts
/// together keep and drop the same copies as the whole. Slots and offsets number the copies of the
/// part; demand counts all parts so far.  [Lancet 4.1: capacity passing]
struct SelectExperts {
  static constexpr OpFacts facts =
      kernel_op("select_experts", CostUnit::bytes,
                {wide(Cut::rows), wide(Cut::rows), integers(Cut::whole), integers(Cut::whole)},
                {integers(Cut::rows), wide(Cut::rows), integers(Cut::rows), integers(Cut::whole),
                 integers(Cut::sum), integers(Cut::sum)});
  int experts = 0;
  int choices = 1;
  bool normalize = false;
  int capacity_groups = 1;                 ///< equal groups of this rank's tokens
  std::optional<std::int64_t> capacity{};  ///< copies per expert and group; none = dropless
  Drop drop = Drop::choice;
  bool even = false;
  std::string_view gate{};  ///< the name of the gate, for a refusal
  bool accumulate = false;
  /// Experts take tokens in turn, whatever their ranking: choice c of token t goes to expert
  /// (t k + c) mod E. With this the loads are even, to measure what uneven ones cost.
  bool in_turn = false;
  double factor = 1;
  Work work(const OpSizes& sizes) const;
  /// Why it cannot be cut along the batch, with the name of the gate; none where it can.
  std::optional<Refusal> refusal_to_cut() const;
};
/// The ranking of an expert that a token must not choose: lower than any other.
inline constexpr double kLeftOutRanking = -1e30;

/// ranking[T,E] -> ranking[T,E], group_score[T,groups]: kLeftOutRanking for the experts of all groups
/// but the `best` ones. Experts of a group follow one another. A group's score is the sum of the
/// `counted` highest rankings in it; of equal groups the first come first.  [DeepSeek-V2, 2.1.2
/// (counted = 1); DeepSeek-V3 (2)]
struct KeepBestGroups {
  static constexpr OpFacts facts = kernel_op("keep_best_groups", CostUnit::bytes, {wide(Cut::rows)},
                                             {wide(Cut::rows), wide(Cut::rows)});
  int groups = 1, best = 1, counted = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_weight[T,k], scores[T,E], expert i32[T,k], weight[T,k] -> d_scores[T,E], zero where not chosen
struct SelectExpertsGradient {
  static constexpr OpFacts facts = kernel_op(
      "select_experts_gradient", CostUnit::bytes,
      {wide(Cut::rows), wide(Cut::rows), integers(Cut::rows), wide(Cut::rows)}, {wide(Cut::rows)});
  int experts = 0;
  int choices = 1;
  bool normalize = false;
  double factor = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_weight[T,k], probabilities[T,E], expert i32[T,k], weight[T,k], total_demand i32[1,E] ->
/// d_logits[T,E]: the gradients of SelectExperts, LoadBalancingLoss and Softmax in one pass.
struct SoftmaxGateGradient {
  static constexpr OpFacts facts = kernel_op("softmax_gate_gradient", CostUnit::bytes,
                                             {wide(Cut::rows), wide(Cut::rows), integers(Cut::rows),
                                              wide(Cut::rows), integers(Cut::whole)},
                                             {wide(Cut::rows)});
  int experts = 0;
  int choices = 1;
  double auxiliary_weight = 0;  ///< factor of the load-balancing loss in the total loss
  std::int64_t global_tokens = 0;
  bool normalize = false;  ///< as SelectExperts does
  double factor = 1;
  Work work(const OpSizes& sizes) const;
};

/// scores[T,E], total_demand i32[1,E] -> loss[1,1]: this rank's share of
/// E * sum_e f_e P_e with f_e = share of all copies that asked for e, P_e = mean score, both over
/// all ranks; the sum over ranks is the loss. (Switch/GShard form, f over all k choices.)
struct LoadBalancingLoss {
  static constexpr OpFacts facts =
      kernel_op("load_balancing_loss", CostUnit::bytes, {wide(Cut::whole), integers(Cut::whole)},
                {wide(Cut::whole)});
  int experts = 0;
  int choices = 1;
  std::int64_t global_tokens = 0;
  bool normalize = false;  ///< P_e is the mean of a score over the sum of its token's scores
  Work work(const OpSizes& sizes) const;
};
/// logits[T,E] -> loss[1,1], log_sum_exp[T,1]: this rank's share of the mean over all tokens of
/// log(sum_e e^logit)^2.  [Zoph et al. 2022, ST-MoE, Eq. 5]
struct RouterZLoss {
  static constexpr OpFacts facts = kernel_op("router_z_loss", CostUnit::bytes, {wide(Cut::whole)},
                                             {wide(Cut::whole), wide(Cut::rows)});
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};
/// logits[T,E], log_sum_exp[T,1], d_logits[T,E] -> d_logits[T,E], its gradient added
struct RouterZLossGradient {
  static constexpr OpFacts facts =
      kernel_op("router_z_loss_gradient", CostUnit::bytes,
                {wide(Cut::rows), wide(Cut::rows), wide(Cut::rows)}, {wide(Cut::rows)});
  double weight = 0;  ///< factor of the loss in the total loss
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};
/// total_demand i32[1,E], d_scores[T,E], (scores[T,E]) -> d_scores[T,E], its gradient added; with
/// scores, that of a loss that normalizes
struct LoadBalancingLossGradient {
  static constexpr OpFacts facts =
      kernel_op("load_balancing_loss_gradient", CostUnit::bytes,
                {integers(Cut::whole), wide(Cut::rows), wide(Cut::rows)}, {wide(Cut::rows)});
  int experts = 0;
  int choices = 1;
  double auxiliary_weight = 0;
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
