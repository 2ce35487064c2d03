#include "moe/ops/query_key_norm.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work QueryKeyNorm::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }
Work QueryKeyNormInputGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work QueryKeyNormWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(0), 3); }

}  // namespace moe
