#pragma once

#include "moe/kernels/activation.h"

namespace moe {

/// y = a s x with s = 1 / (1 + e^-a)
template <class Stored>
struct GatedSiluValue {
  MOE_BODY Wide<Stored> operator()(Stored a, Stored x) const {
    return a * SigmoidCurve<Wide<Stored>>::value(a) * x;
  }
};

/// da = dy x (s + a s (1 - s)), dx = dy a s
template <class Stored>
struct GatedSiluGradientBody {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* a;
  const Stored* x;
  Stored* da;
  Stored* dx;
  MOE_BODY void operator()(std::int64_t i) const {
    const Real s = SigmoidCurve<Real>::value(a[i]);
    da[i] = dy[i] * x[i] * (s + a[i] * s * (Real(1) - s));
    dx[i] = dy[i] * a[i] * s;
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const GatedSilu&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* a = data_of<Stored>(bound.reads[0]);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.map(range.rows * width, y + begin, GatedSiluValue<Stored>{}, a + begin, x + begin);
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const GatedSiluGradient&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* a = data_of<Stored>(bound.reads[1]);
  const Stored* x = data_of<Stored>(bound.reads[2]);
  Stored* da = data_of<Stored>(bound.writes[0]);
  Stored* dx = data_of<Stored>(bound.writes[1]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(
        range.rows * width,
        GatedSiluGradientBody<Stored>{dy + begin, a + begin, x + begin, da + begin, dx + begin});
  }
}

}  // namespace moe
