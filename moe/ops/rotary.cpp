#include "moe/ops/rotary.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work Rotary::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }
Work RotaryGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }

}  // namespace moe
