#include "moe/ops/group_gate.h"

#include "moe/rows/op_sizes.h"

namespace moe {

/// Bisection looks at every bit of a score.
Work ChooseTokens::work(const OpSizes& s) const {
  return s.element_wise(s.in(0), 8 * bytes_of(s.tensor(s.in(0)).dtype));
}
/// A round reads e^logits twice, in a kernel each.
Work BalanceRanking::work(const OpSizes& s) const {
  Work work = s.element_wise(s.in(0), 4.0 * rounds + 10);
  work.memory_bytes += 2 * rounds * s.bytes(s.out(0)) + s.bytes(s.in(0));
  work.calls = 2 * rounds + 2;
  return work;
}
Work SoftSlots::work(const OpSizes& s) const { return s.element_wise(s.in(0), 16); }
Work SoftSlotsGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 9); }

}  // namespace moe
