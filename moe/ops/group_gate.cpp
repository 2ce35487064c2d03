#include "moe/ops/group_gate.h"

#include "moe/rows/op_sizes.h"

namespace moe {

/// Bisection looks at every bit of a score.
Work ChooseTokens::work(const OpSizes& s) const {
  return s.element_wise(s.in(0), 8 * bytes_of(s.tensor(s.in(0)).dtype));
}
Work SoftSlots::work(const OpSizes& s) const { return s.element_wise(s.in(0), 16); }
Work SoftSlotsGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 9); }

}  // namespace moe
