#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Added to the mean square.
inline constexpr double kRmsNormEpsilon = 1e-5;

/// y = x / sqrt(mean(x^2) + epsilon) * scale. A team per row. The reciprocal root is kept for
/// backward.
template <class Real>
struct RmsNormBody {
  const Real* x;
  const Real* scale;
  Real* y;
  Real* statistics;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* in = x + row * width;
    Real* out = y + row * width;
    const Real* const gain = scale;
    const Real square =
        team.sum(width, [=](std::int64_t c) { return in[c] * in[c]; }) / static_cast<Real>(width);
    const Real inverse = Real(1) / std::sqrt(square + static_cast<Real>(kRmsNormEpsilon));
    team.for_each(width, [=](std::int64_t c) { out[c] = in[c] * inverse * gain[c]; });
    if (team.leader()) statistics[row] = inverse;
  }
};

/// With n = x inverse and g = dy scale: dx = inverse (g - n mean(g n)).
template <class Real>
struct RmsNormInputGradientBody {
  const Real* dy;
  const Real* x;
  const Real* scale;
  const Real* statistics;
  Real* dx;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* in = x + row * width;
    const Real* gradient = dy + row * width;
    Real* out = dx + row * width;
    const Real* const gain = scale;
    const Real inverse = statistics[row];
    const Real dot =
        team.sum(width, [=](std::int64_t c) { return gradient[c] * gain[c] * (in[c] * inverse); });
    const Real mean_dot = dot / static_cast<Real>(width);
    team.for_each(width, [=](std::int64_t c) {
      out[c] = inverse * (gradient[c] * gain[c] - in[c] * inverse * mean_dot);
    });
  }
};

/// d_scale = sum over rows of dy n.
template <class Real>
struct RmsNormWeightGradientTerms {
  const Real* dy;
  const Real* x;
  const Real* statistics;
  std::int64_t width;

  MOE_BODY Sums<Real, 1> operator()(std::int64_t row, std::int64_t column) const {
    return {dy[row * width + column] * (x[row * width + column] * statistics[row])};
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const RmsNorm&, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(
      x.rows, x.columns,
      RmsNormBody<Real>{data_of<Real>(x), data_of<Real>(bound.reads[1]),
                        data_of<Real>(bound.writes[0]), data_of<Real>(bound.writes[1]), x.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const RmsNormInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows, dy.columns,
            RmsNormInputGradientBody<Real>{
                data_of<Real>(dy), data_of<Real>(bound.reads[1]), data_of<Real>(bound.reads[2]),
                data_of<Real>(bound.reads[3]), data_of<Real>(bound.writes[0]), dy.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const RmsNormWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.column_sums(
      dy.rows, dy.columns,
      RmsNormWeightGradientTerms<Real>{data_of<Real>(dy), data_of<Real>(bound.reads[1]),
                                       data_of<Real>(bound.reads[2]), dy.columns},
      SumTargets<Real, 1>{{data_of<Real>(bound.writes[0])}, op.accumulate});
}

}  // namespace moe
