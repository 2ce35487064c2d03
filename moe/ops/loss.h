#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// logits[T,V], targets i32[T] -> loss[1,1] (this rank's share of the global mean), log_sum_exp[T]
struct CrossEntropy {
  static constexpr OpFacts facts =
      kernel_op("cross_entropy", CostUnit::bytes, {Cut::whole, integers(Cut::whole)},
                {wide(Cut::whole), wide(Cut::whole)});
  std::int64_t global_tokens = 0;
  Work work(const OpSizes& sizes) const;
};
/// logits[T,V], targets i32[T], log_sum_exp[T] -> d_logits[T,V], scaled by 1 / global_tokens.
/// The first logit is that of token `first_id`.
struct CrossEntropyGradient {
  static constexpr OpFacts facts =
      kernel_op("cross_entropy_gradient", CostUnit::bytes,
                {Cut::rows, integers(Cut::rows), wide(Cut::rows)}, {Cut::rows});
  std::int64_t global_tokens = 0;
  std::int64_t first_id = 0;
  Work work(const OpSizes& sizes) const;
};

/// Where n ranks cut the vocabulary, each has the logits of the tokens of all of them.
/// logits[n*T,V/n], targets i32[n*T] -> statistics[n*T,2]: the log of the sum of e^logits, and the
/// logit of the target, 0 where another rank has it. The first logit is that of token `first_id`.
struct VocabularyStatistics {
  static constexpr OpFacts facts =
      kernel_op("vocabulary_statistics", CostUnit::bytes, {Cut::whole, integers(Cut::whole)},
                {wide(Cut::whole)});
  std::int64_t first_id = 0;
  Work work(const OpSizes& sizes) const;
};
/// statistics[n*n*T,2], of all ranks one after the other -> loss[1,1] (the share of the T tokens of
/// rank `own`), log_sum_exp[n*T,1]
struct SharedCrossEntropy {
  static constexpr OpFacts facts =
      kernel_op("shared_cross_entropy", CostUnit::bytes, {wide(Cut::whole)},
                {wide(Cut::whole), wide(Cut::whole)});
  std::int64_t global_tokens = 0;
  int ranks = 1, own = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
