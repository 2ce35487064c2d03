#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// expert i32[T,k], slot i32[T,k], (demand of the part before where `accumulate`) ->
///     slot i32[T,k], offsets i32[1,E+1], demand i32[1,E]
/// Deals out to a part of the batch (Op::part) what a gate has chosen for all of it: the copies of the part's own
/// tokens, those without a slot (-1) still without one. slot = position among the part's copies kept for that
/// expert, in token order. Slots, offsets and demand of a part are what SelectExperts leaves of a piece; of one part
/// they are the gate's own.  [Lancet 5.2: what allows Fig. 4c behind a gate that needs the whole batch]
struct SplitSelection {
  static constexpr OpFacts facts =
      kernel_op("split_selection", CostUnit::bytes, {Cut::rows, Cut::rows, Cut::whole},
                {Cut::rows, Cut::whole, Cut::sum});
  int experts = 0;
  int choices = 1;
  bool drops = true;  ///< a copy without a slot was asked for; false: by nobody (ChooseTokens)
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
