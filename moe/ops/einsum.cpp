#include "moe/ops/einsum.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Matrix products that the rows of a mask are cut into: its blocks lie expert by expert.
std::int64_t product_calls(double rows, int groups, std::int64_t slots) {
  return groups > 1 ? static_cast<std::int64_t>(rows) / slots : 1;
}

}  // namespace

Work DispatchMask::work(const OpSizes& s) const { return {0, s.all_bytes()}; }
Work DispatchMaskGradient::work(const OpSizes& s) const { return s.gathered(s.out(0)); }

Work EinsumRows::work(const OpSizes& s) const {
  const double rows = s.rows(s.out(0));
  return s.product(rows, s.columns(s.in(0)), s.columns(s.out(0)),
                   product_calls(rows, groups, slots));
}
Work EinsumTokens::work(const OpSizes& s) const {
  const double rows = s.rows(s.in(0));
  return s.product(rows, s.columns(s.in(0)), s.columns(s.out(0)),
                   product_calls(rows, groups, slots));
}
Work EinsumMask::work(const OpSizes& s) const {
  const double rows = s.rows(s.in(0));
  return s.product(rows, s.columns(s.in(0)), s.columns(s.out(0)),
                   product_calls(rows, groups, slots));
}

}  // namespace moe
