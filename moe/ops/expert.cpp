#include "moe/ops/expert.h"

#include "moe/program/op_sizes.h"

namespace moe {

Work ExpertLinear::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)), local_experts);
}
Work ExpertLinearInputGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)), local_experts);
}
Work ExpertLinearWeightGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.in(1)), local_experts);
}

}  // namespace moe
