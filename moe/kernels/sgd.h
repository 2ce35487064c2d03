#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// v = momentum v + g, p -= learning_rate v.
template <class Real>
struct SgdBody {
  const Real* gradient;
  Real* parameter;
  Real* velocity;
  Real learning_rate, momentum;

  MOE_BODY void operator()(std::int64_t i) const {
    const Real v = momentum * velocity[i] + gradient[i];
    velocity[i] = v;
    parameter[i] -= learning_rate * v;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SgdStep& op, const BoundOp& bound) {
  exec.elements(count_of(bound.writes[0]),
                SgdBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.writes[0]),
                              data_of<Real>(bound.writes[1]), static_cast<Real>(op.learning_rate),
                              static_cast<Real>(op.momentum)});
}

}  // namespace moe
