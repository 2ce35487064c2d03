#include "moe/ops/gate.h"

#include "moe/program/op_sizes.h"

namespace moe {

Work Softmax::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work SelectExperts::work(const OpSizes& s) const { return s.element_wise(s.in(0), choices); }
Work SelectExpertsGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work SoftmaxGateGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work LoadBalancingLoss::work(const OpSizes& s) const { return s.element_wise(s.in(0), 2); }
Work LoadBalancingLossGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }

}  // namespace moe
