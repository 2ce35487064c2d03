#include "moe/ops/expert_bias.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work AddExpertBias::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work SumExpertLoads::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work AdjustExpertBias::work(const OpSizes& s) const { return s.element_wise(s.out(0), 3); }

}  // namespace moe
