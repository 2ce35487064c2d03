#pragma once

#include "moe/kernels/gated_silu.h"

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
struct ClampedSwigluSlopes {
  using Real = Wide<Stored>;
  ClampedSwigluCurve<Real> curve;
  MOE_BODY Two<Real> operator()(Stored dy, Stored a, Stored x) const {
    return {dy * curve.by_gate(a, x), dy * curve.by_up(a, x)};
  }
};

template <class Stored, class Kind>
ClampedSwigluCurve<Wide<Stored>> curve_of(const Kind& op) {
  return {static_cast<Wide<Stored>>(op.slope), static_cast<Wide<Stored>>(op.limit)};
}

template <class Stored, class Exec>
void launch(Exec& exec, const ClampedSwiglu& op, const BoundOp& bound) {
  gate<Stored>(exec, bound, ClampedSwigluValue<Stored>{curve_of<Stored>(op)});
}

template <class Stored, class Exec>
void launch(Exec& exec, const ClampedSwigluGradient& op, const BoundOp& bound) {
  gate_gradients<Stored>(exec, bound, ClampedSwigluSlopes<Stored>{curve_of<Stored>(op)});
}

}  // namespace moe
