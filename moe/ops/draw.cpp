#include "moe/ops/draw.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work AddNoise::work(const OpSizes& s) const { return s.element_wise(s.out(0), quiet ? 1 : 60); }
Work AddNoiseGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 60); }
Work DrawRanking::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work HashTokens::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }

}  // namespace moe
