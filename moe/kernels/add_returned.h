#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Real>
struct SumWithReturned {
  MOE_BODY Real operator()(Real gradient, Real returned) const { return gradient + returned; }
};

/// ranges[i].begin is the slot of the expert whose gradient the i-th returned block is. Blocks are
/// added one after the other, so that the sum has one order.
template <class Real, class Exec>
void launch(Exec& exec, const AddReturned& op, const BoundOp& bound) {
  for (std::size_t tensor = 0; tensor < bound.writes.size(); ++tensor) {
    const Real* returned = data_of<Real>(bound.reads[tensor]);
    Real* gradients = data_of<Real>(bound.writes[tensor]);
    const std::int64_t block = count_of(bound.writes[tensor]) / op.local_experts;
    for (const RowRange& expert : bound.ranges) {
      Real* const gradient = gradients + expert.begin * block;
      exec.map(block, gradient, SumWithReturned<Real>{}, gradient, returned);
      returned += block;
    }
  }
}

}  // namespace moe
