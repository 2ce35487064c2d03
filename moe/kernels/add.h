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
  const std::int64_t width = bound.writes[0].columns;
  const Real* a = data_of<Real>(bound.reads[0]);
  const Real* b = data_of<Real>(bound.reads[1]);
  Real* y = data_of<Real>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, AddBody<Real>{a + begin, b + begin, y + begin});
  }
}

}  // namespace moe
