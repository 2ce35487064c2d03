#include "moe/ops/dense.h"

#include "moe/program/op_sizes.h"

namespace moe {

Work EmbedTokens::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work EmbedTokensGradient::work(const OpSizes& s) const {
  return {0, s.bytes(s.in(1)) + s.bytes(s.out(0)) + s.bytes(s.out(1))};
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
Work Sigmoid::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work SigmoidGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 11); }

}  // namespace moe
