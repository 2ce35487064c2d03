#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// gelu(x) = x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3), written as x s with the logistic
/// function s = 1 / (1 + e^-2u): the same value without the cancellation of 1 + tanh.
template <class Real>
struct GeluCurve {
  static constexpr Real kSlope = Real(1.5957691216057308);  // 2 sqrt(2/pi)
  static constexpr Real kCubic = Real(0.044715);

  static MOE_BODY Real logistic(Real x) {
    return Real(1) / (Real(1) + exponential(-kSlope * (x + kCubic * x * x * x)));
  }
  static MOE_BODY Real value(Real x) { return x * logistic(x); }
  static MOE_BODY Real derivative(Real x) {
    const Real s = logistic(x);
    return s + x * s * (Real(1) - s) * kSlope * (Real(1) + 3 * kCubic * x * x);
  }
};

/// 1 / (1 + e^-x)
template <class Real>
struct SigmoidCurve {
  static MOE_BODY Real value(Real x) { return Real(1) / (Real(1) + exponential(-x)); }
  static MOE_BODY Real derivative(Real x) {
    const Real s = value(x);
    return s * (Real(1) - s);
  }
};

/// max(x, 0); NaN stays NaN.
template <class Real>
struct ReluCurve {
  static MOE_BODY Real value(Real x) { return x < Real(0) ? Real(0) : x; }
  static MOE_BODY Real derivative(Real x) { return x > Real(0) ? Real(1) : Real(0); }
};

template <class Curve, class Stored>
struct CurveValue {
  MOE_BODY Wide<Stored> operator()(Stored x) const { return Curve::value(x); }
};

template <class Curve, class Stored>
struct CurveGradient {
  MOE_BODY Wide<Stored> operator()(Stored dy, Stored x) const { return dy * Curve::derivative(x); }
};

template <class Curve, class Stored, class Exec>
void activate(Exec& exec, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, y + begin, CurveValue<Curve, Stored>{}, x + begin);
  });
}

template <class Curve, class Stored, class Exec>
void activate_gradient(Exec& exec, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* dx = data_of<Stored>(bound.writes[0]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, dx + begin, CurveGradient<Curve, Stored>{}, dy + begin, x + begin);
  });
}

template <class Stored, class Exec>
void launch(Exec& exec, const Gelu&, const BoundOp& bound) {
  activate<GeluCurve<Wide<Stored>>, Stored>(exec, bound);
}
template <class Stored, class Exec>
void launch(Exec& exec, const GeluGradient&, const BoundOp& bound) {
  activate_gradient<GeluCurve<Wide<Stored>>, Stored>(exec, bound);
}
template <class Stored, class Exec>
void launch(Exec& exec, const Relu&, const BoundOp& bound) {
  activate<ReluCurve<Wide<Stored>>, Stored>(exec, bound);
}
template <class Stored, class Exec>
void launch(Exec& exec, const ReluGradient&, const BoundOp& bound) {
  activate_gradient<ReluCurve<Wide<Stored>>, Stored>(exec, bound);
}
template <class Stored, class Exec>
void launch(Exec& exec, const Sigmoid&, const BoundOp& bound) {
  activate<SigmoidCurve<Wide<Stored>>, Stored>(exec, bound);
}
template <class Stored, class Exec>
void launch(Exec& exec, const SigmoidGradient&, const BoundOp& bound) {
  activate_gradient<SigmoidCurve<Wide<Stored>>, Stored>(exec, bound);
}

}  // namespace moe
