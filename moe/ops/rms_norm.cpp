#include "moe/ops/rms_norm.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work RmsNorm::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }
Work RmsNormInputGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work RmsNormWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(0), 3); }

}  // namespace moe
