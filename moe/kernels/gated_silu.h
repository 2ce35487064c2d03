#pragma once

#include "moe/kernels/activation.h"

namespace moe {

/// What the elements of two tensors become (map_two() of an executor).
template <class Real>
struct Two {
  Real first, second;
};

/// y = a s x with s = 1 / (1 + e^-a)
template <class Stored>
struct GatedSiluValue {
  MOE_BODY Wide<Stored> operator()(Stored a, Stored x) const {
    return a * SigmoidCurve<Wide<Stored>>::value(a) * x;
  }
};

/// da = dy x (s + a s (1 - s)), dx = dy a s
template <class Stored>
struct GatedSiluSlopes {
  using Real = Wide<Stored>;
  MOE_BODY Two<Real> operator()(Stored dy, Stored a, Stored x) const {
    const Real s = SigmoidCurve<Real>::value(a);
    return {dy * x * (s + a * s * (Real(1) - s)), dy * a * s};
  }
};

/// y = value(a, x) of the rows of an op that reads a and x.
template <class Stored, class Exec, class Value>
void gate(Exec& exec, const BoundOp& bound, Value value) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* a = data_of<Stored>(bound.reads[0]);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, y + begin, value, a + begin, x + begin);
  });
}

/// da and dx by slopes(dy, a, x) of the rows of an op that reads these and writes both.
template <class Stored, class Exec, class Slopes>
void gate_gradients(Exec& exec, const BoundOp& bound, Slopes slopes) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  const Stored* a = data_of<Stored>(bound.reads[1]);
  const Stored* x = data_of<Stored>(bound.reads[2]);
  Stored* da = data_of<Stored>(bound.writes[0]);
  Stored* dx = data_of<Stored>(bound.writes[1]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map_two(count, da + begin, dx + begin, slopes, dy + begin, a + begin, x + begin);
  });
}

template <class Stored, class Exec>
void launch(Exec& exec, const GatedSilu&, const BoundOp& bound) {
  gate<Stored>(exec, bound, GatedSiluValue<Stored>{});
}

template <class Stored, class Exec>
void launch(Exec& exec, const GatedSiluGradient&, const BoundOp& bound) {
  gate_gradients<Stored>(exec, bound, GatedSiluSlopes<Stored>{});
}

}  // namespace moe
