#include "moe/ops/cosine.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work CosineLogits::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.rows(s.in(1)));
}
Work CosineLogitsInputGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(2)), s.columns(s.in(2)), s.rows(s.in(3)));
}
Work CosineLogitsWeightGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(2)), s.columns(s.in(2)), s.rows(s.in(3)));
}

}  // namespace moe
