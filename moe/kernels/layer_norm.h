#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Added to the variance.
inline constexpr double kLayerNormEpsilon = 1e-5;

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift. A team per row. The statistics are
/// kept for backward. The variance is a mean of (x - mean)^2, which avoids cancellation.
template <class Real>
struct LayerNormBody {
  const Real* x;
  const Real* scale;
  const Real* shift;
  Real* y;
  Real* statistics;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* in = x + row * width;
    Real* out = y + row * width;
    const Real* const gain = scale;
    const Real* const offset = shift;
    const Real mean =
        team.sum(width, [=](std::int64_t c) { return in[c]; }) / static_cast<Real>(width);
    const Real variance = team.sum(width, [=](std::int64_t c) {
      const Real centred = in[c] - mean;
      return centred * centred;
    }) / static_cast<Real>(width);
    const Real inverse = Real(1) / std::sqrt(variance + static_cast<Real>(kLayerNormEpsilon));
    team.for_each(width,
                  [=](std::int64_t c) { out[c] = (in[c] - mean) * inverse * gain[c] + offset[c]; });
    if (team.leader()) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
  }
};

/// With n = (x - mean) inverse and g = dy scale: dx = inverse (g - mean(g) - n mean(g n)).
template <class Real>
struct LayerNormInputGradientBody {
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
    const Real mean = statistics[2 * row];
    const Real inverse = statistics[2 * row + 1];
    const Real sum = team.sum(width, [=](std::int64_t c) { return gradient[c] * gain[c]; });
    const Real dot = team.sum(
        width, [=](std::int64_t c) { return gradient[c] * gain[c] * ((in[c] - mean) * inverse); });
    const Real mean_gradient = sum / static_cast<Real>(width);
    const Real mean_dot = dot / static_cast<Real>(width);
    team.for_each(width, [=](std::int64_t c) {
      const Real normal = (in[c] - mean) * inverse;
      out[c] = inverse * (gradient[c] * gain[c] - mean_gradient - normal * mean_dot);
    });
  }
};

/// d_scale = sum over rows of dy n, d_shift = sum over rows of dy.
template <class Real>
struct LayerNormWeightGradientTerms {
  const Real* dy;
  const Real* x;
  const Real* statistics;
  std::int64_t width;

  MOE_BODY Sums<Real, 2> operator()(std::int64_t row, std::int64_t column) const {
    const Real gradient = dy[row * width + column];
    const Real normal = (x[row * width + column] - statistics[2 * row]) * statistics[2 * row + 1];
    return {gradient * normal, gradient};
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const LayerNorm&, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns,
            LayerNormBody<Real>{data_of<Real>(x), data_of<Real>(bound.reads[1]),
                                data_of<Real>(bound.reads[2]), data_of<Real>(bound.writes[0]),
                                data_of<Real>(bound.writes[1]), x.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const LayerNormInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows, dy.columns,
            LayerNormInputGradientBody<Real>{
                data_of<Real>(dy), data_of<Real>(bound.reads[1]), data_of<Real>(bound.reads[2]),
                data_of<Real>(bound.reads[3]), data_of<Real>(bound.writes[0]), dy.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const LayerNormWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.column_sums(
      dy.rows, dy.columns,
      LayerNormWeightGradientTerms<Real>{data_of<Real>(dy), data_of<Real>(bound.reads[1]),
                                         data_of<Real>(bound.reads[2]), dy.columns},
      SumTargets<Real, 2>{{data_of<Real>(bound.writes[0]), data_of<Real>(bound.writes[1])},
                          op.accumulate});
}

}  // namespace moe
