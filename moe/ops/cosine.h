#pragma once

#include "moe/rows/op_facts.h"

/// Logits by the angle between tokens and experts: T tokens of this rank, E experts, both in r
/// dimensions.
namespace moe {

/// tokens[T,r], experts[E,r], (log_scale[1,1]) ->
///     logits[T,E] = cos(token, expert) / (temperature e^log_scale), lengths[T,1],
///     expert_lengths[E,1]
struct CosineLogits {
  static constexpr OpFacts facts = kernel_op("cosine_logits", CostUnit::flops,
                                             {wide(Cut::rows), wide(Cut::whole), wide(Cut::whole)},
                                             {wide(Cut::rows), wide(Cut::rows), wide(Cut::whole)});
  double temperature = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_logits[T,E], logits[T,E], tokens[T,r], experts[E,r], lengths[T,1], expert_lengths[E,1],
/// (log_scale[1,1]) -> d_tokens[T,r]
struct CosineLogitsInputGradient {
  static constexpr OpFacts facts =
      kernel_op("cosine_logits_input_gradient", CostUnit::flops,
                {wide(Cut::rows), wide(Cut::rows), wide(Cut::rows), wide(Cut::whole),
                 wide(Cut::rows), wide(Cut::whole), wide(Cut::whole)},
                {wide(Cut::rows)});
  double temperature = 1;
  Work work(const OpSizes& sizes) const;
};
/// The same reads, (d_experts, d_log_scale where `accumulate`) ->
///     d_experts[E,r], (d_log_scale[1,1])
struct CosineLogitsWeightGradient {
  static constexpr OpFacts facts = kernel_op(
      "cosine_logits_weight_gradient", CostUnit::flops,
      {wide(Cut::whole), wide(Cut::whole), wide(Cut::whole), wide(Cut::whole), wide(Cut::whole),
       wide(Cut::whole), wide(Cut::whole), wide(Cut::whole), wide(Cut::whole)},
      {wide(Cut::sum), wide(Cut::sum)});
  double temperature = 1;
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
