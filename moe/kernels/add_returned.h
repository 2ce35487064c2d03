#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Real>
struct AddReturnedBody {
  const Real* returned;
  Real* gradient;
  MOE_BODY void operator()(std::int64_t i) const { gradient[i] += returned[i]; }
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
      exec.elements(block, AddReturnedBody<Real>{returned, gradients + expert.begin * block});
      returned += block;
    }
  }
}

}  // namespace moe
