#pragma once

#include "moe/kernels/activation.h"

namespace moe {

/// y = a s x with s = 1 / (1 + e^-a)
template <class Real>
struct GatedSiluBody {
  const Real* a;
  const Real* x;
  Real* y;
  MOE_BODY void operator()(std::int64_t i) const {
    y[i] = a[i] * SigmoidCurve<Real>::value(a[i]) * x[i];
  }
};

/// da = dy x (s + a s (1 - s)), dx = dy a s
template <class Real>
struct GatedSiluGradientBody {
  const Real* dy;
  const Real* a;
  const Real* x;
  Real* da;
  Real* dx;
  MOE_BODY void operator()(std::int64_t i) const {
    const Real s = SigmoidCurve<Real>::value(a[i]);
    da[i] = dy[i] * x[i] * (s + a[i] * s * (Real(1) - s));
    dx[i] = dy[i] * a[i] * s;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const GatedSilu&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Real* a = data_of<Real>(bound.reads[0]);
  const Real* x = data_of<Real>(bound.reads[1]);
  Real* y = data_of<Real>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, GatedSiluBody<Real>{a + begin, x + begin, y + begin});
  }
}

template <class Real, class Exec>
void launch(Exec& exec, const GatedSiluGradient&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Real* dy = data_of<Real>(bound.reads[0]);
  const Real* a = data_of<Real>(bound.reads[1]);
  const Real* x = data_of<Real>(bound.reads[2]);
  Real* da = data_of<Real>(bound.writes[0]);
  Real* dx = data_of<Real>(bound.writes[1]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, GatedSiluGradientBody<Real>{dy + begin, a + begin, x + begin,
                                                                  da + begin, dx + begin});
  }
}

}  // namespace moe
