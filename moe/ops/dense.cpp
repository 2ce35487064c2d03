#include "moe/ops/dense.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work EmbedTokens::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work EmbedTokensGradient::work(const OpSizes& s) const {
  std::int64_t bytes = s.bytes(s.in(1));
  for (const Use& table : s.writes) bytes += s.bytes(table);
  return {0, bytes};
}

Work Linear::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)));
}
Work LinearInputGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)));
}
Work LinearWeightGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.in(1)));
}

Work Add::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work Gelu::work(const OpSizes& s) const { return s.element_wise(s.out(0), 15); }
Work GeluGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 25); }
Work Relu::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work ReluGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work GatedSilu::work(const OpSizes& s) const { return s.element_wise(s.out(0), 9); }
Work GatedSiluGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 15); }
Work ClampedSwiglu::work(const OpSizes& s) const { return s.element_wise(s.out(0), 14); }
Work ClampedSwigluGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 22); }
Work Sigmoid::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work SigmoidGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 11); }
Work Scale::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work ScaleRows::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work ScaleRowsGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 3); }

}  // namespace moe
