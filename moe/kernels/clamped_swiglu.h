#pragma once

#include "moe/kernels/activation.h"

namespace moe {

/// The value and the gradients of ClampedSwiglu (moe/ops/dense.h) at one place.
template <class Real>
struct ClampedSwigluCurve {
  Real slope, limit;

  MOE_BODY Real gate(Real a) const { return a > limit ? limit : a; }
  MOE_BODY Real up(Real x) const { return x > limit ? limit : x < -limit ? -limit : x; }
  MOE_BODY Real value(Real a, Real x) const {
    const Real g = gate(a);
    return (up(x) + Real(1)) * g * SigmoidCurve<Real>::value(slope * g);
  }
  /// Nothing flows through what is beyond the limit.
  MOE_BODY Real by_gate(Real a, Real x) const {
    const Real s = SigmoidCurve<Real>::value(slope * a);
    return a > limit ? Real(0) : (up(x) + Real(1)) * (s + slope * a * s * (Real(1) - s));
  }
  MOE_BODY Real by_up(Real a, Real x) const {
    const Real g = gate(a);
    return x > limit || x < -limit ? Real(0) : g * SigmoidCurve<Real>::value(slope * g);
  }
};

template <class Stored>
struct ClampedSwigluValue {
  ClampedSwigluCurve<Wide<Stored>> curve;
  MOE_BODY Wide<Stored> operator()(Stored a, Stored x) const { return curve.value(a, x); }
};

template <class Stored>
struct ClampedSwigluGradientBody {
  ClampedSwigluCurve<Wide<Stored>> curve;
  const Stored* dy;
  const Stored* a;
  const Stored* x;
  Stored* da;
  Stored* dx;
  MOE_BODY void operator()(std::int64_t i) const {
    da[i] = dy[i] * curve.by_gate(a[i], x[i]);
    dx[i] = dy[i] * curve.by_up(a[i], x[i]);
  }
};

template <class Stored, class Kind>
ClampedSwigluCurve<Wide<Stored>> curve_of(const Kind& op) {
  return {static_cast<Wide<Stored>>(op.slope), static_cast<Wide<Stored>>(op.limit)};
}

template <class Stored, class Exec>
void launch(Exec& exec, const ClampedSwiglu& op, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* a = data_of<Stored>(bound.reads[0]);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  const ClampedSwigluValue<Stored> value{curve_of<Stored>(op)};
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.map(range.rows * width, y + begin, value, a + begin, x + begin);
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const ClampedSwigluGradient& op, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* a = data_of<Stored>(bound.reads[1]);
  const Stored* x = data_of<Stored>(bound.reads[2]);
  Stored* da = data_of<Stored>(bound.writes[0]);
  Stored* dx = data_of<Stored>(bound.writes[1]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width,
                  ClampedSwigluGradientBody<Stored>{curve_of<Stored>(op), dy + begin, a + begin,
                                                    x + begin, da + begin, dx + begin});
  }
}

}  // namespace moe
