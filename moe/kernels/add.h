#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Real>
struct AddBody {
  const Real* a;
  const Real* b;
  Real* y;
  MOE_BODY void operator()(std::int64_t i) const { y[i] = a[i] + b[i]; }
};

template <class Real, class Exec>
void launch(Exec& exec, const Add&, const BoundOp& bound) {
  exec.elements(count_of(bound.writes[0]),
                AddBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                              data_of<Real>(bound.writes[0])});
}

}  // namespace moe
