#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// expert i32[T,k], slot i32[T,k], (demand of the part before where `accumulate`) ->
///     slot i32[T,k], offsets i32[1,E+1], demand i32[1,E]
/// Divides the choice that a gate has made for the whole batch among parts of the batch (Op::part).
/// A part gets the copies of its own tokens; copies without a slot (-1) stay without one. slot =
/// position among the part's copies kept for that expert, in token order. Slots, offsets and demand
/// of a part are as SelectExperts writes them for a part; with a single part they are those of the
/// gate.  [Lancet 5.2: allows Fig. 4c after a gate that needs the whole batch]
struct SplitSelection {
  static constexpr OpFacts facts =
      kernel_op("split_selection", CostUnit::bytes,
                {integers(Cut::rows), integers(Cut::rows), integers(Cut::whole)},
                {integers(Cut::rows), integers(Cut::whole), integers(Cut::sum)});
  int experts = 0;
  int choices = 1;
  bool drops = true;  ///< a copy without a slot was asked for and dropped; false after ChooseTokens
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
