#include "moe/ops/layer_norm.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work LayerNorm::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work LayerNormInputGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 12); }
Work LayerNormWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(0), 4); }

}  // namespace moe
