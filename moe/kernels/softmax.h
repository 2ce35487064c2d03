#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// A team per row.
template <class Real>
struct SoftmaxBody {
  const Real* x;
  Real* y;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* in = x + row * width;
    Real* out = y + row * width;
    const Real largest = team.max(width, [=](std::int64_t c) { return in[c]; });
    const Real sum = team.sum(width, [=](std::int64_t c) {
      const Real value = exponential(in[c] - largest);
      out[c] = value;
      return value;
    });
    const Real inverse = Real(1) / sum;
    team.sync();
    team.for_each(width, [=](std::int64_t c) { out[c] *= inverse; });
  }
};

/// A team per row.
template <class Real>
struct SoftmaxGradientBody {
  const Real* dy;
  const Real* y;
  Real* dx;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* gradient = dy + row * width;
    const Real* value = y + row * width;
    Real* out = dx + row * width;
    const Real dot = team.sum(width, [=](std::int64_t c) { return gradient[c] * value[c]; });
    team.for_each(width, [=](std::int64_t c) { out[c] = value[c] * (gradient[c] - dot); });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SoftmaxGradient&, const BoundOp& bound) {
  const View& dx = bound.writes[0];
  exec.rows(dx.rows, dx.columns,
            SoftmaxGradientBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                                      data_of<Real>(dx), dx.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const Softmax&, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns,
            SoftmaxBody<Real>{data_of<Real>(x), data_of<Real>(bound.writes[0]), x.columns});
}

}  // namespace moe
