#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift. A team per row. The statistics are
/// kept for backward. The variance is a mean of (x - mean)^2, which avoids cancellation.
template <class Stored>
struct LayerNormBody {
  using Real = Wide<Stored>;
  const Stored* x;
  const Stored* scale;
  const Stored* shift;
  Stored* y;
  Real* statistics;
  std::int64_t width;
  double epsilon;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    normalize(team, row, team.hold(width, x + row * width));
  }

  /// The row of x as the team holds it.
  template <class Team, class Row>
  MOE_BODY void normalize(Team& team, std::int64_t row, const Row& in) const {
    Stored* out = y + row * width;
    const Real mean = team.sum(
                          width, [](Stored value) { return Real(value); }, in) /
                      static_cast<Real>(width);
    const Real variance = team.sum(
                              width,
                              [=](Stored value) {
                                const Real centred = value - mean;
                                return centred * centred;
                              },
                              in) /
                          static_cast<Real>(width);
    const Real inverse = Real(1) / std::sqrt(variance + static_cast<Real>(epsilon));
    team.map(
        width, out,
        [=](Stored value, Stored gain, Stored offset) {
          return (value - mean) * inverse * gain + offset;
        },
        in, scale, shift);
    if (team.leader()) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
  }
};

/// With n = (x - mean) inverse and g = dy scale: dx = inverse (g - mean(g) - n mean(g n)).
template <class Stored>
struct LayerNormInputGradientBody {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* x;
  const Stored* scale;
  const Real* statistics;
  Stored* dx;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const auto in = team.hold(width, x + row * width);
    const auto gradients = team.hold(width, dy + row * width);
    Stored* out = dx + row * width;
    const Real mean = statistics[2 * row];
    const Real inverse = statistics[2 * row + 1];
    const Real sum = team.sum(
        width, [](Stored gradient, Stored gain) { return gradient * gain; }, gradients, scale);
    const Real dot = team.sum(
        width,
        [=](Stored gradient, Stored gain, Stored value) {
          return gradient * gain * ((value - mean) * inverse);
        },
        gradients, scale, in);
    const Real mean_gradient = sum / static_cast<Real>(width);
    const Real mean_dot = dot / static_cast<Real>(width);
    team.map(
        width, out,
        [=](Stored gradient, Stored gain, Stored value) {
          const Real normal = (value - mean) * inverse;
          return inverse * (gradient * gain - mean_gradient - normal * mean_dot);
        },
        gradients, scale, in);
  }
};

/// d_scale = sum over rows of dy n, d_shift = sum over rows of dy.
template <class Stored>
struct LayerNormWeightGradientTerm {
  using Real = Wide<Stored>;
  const Real* statistics;

  MOE_BODY Sums<Real, 2> operator()(std::int64_t row, Stored dy, Stored x) const {
    const Real gradient = dy;
    const Real normal = (x - statistics[2 * row]) * statistics[2 * row + 1];
    return {gradient * normal, gradient};
  }
};

template <class Stored>
LayerNormBody<Stored> layer_norm_body(const LayerNorm& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  return {data_of<Stored>(x),
          data_of<Stored>(bound.reads[1]),
          data_of<Stored>(bound.reads[2]),
          data_of<Stored>(bound.writes[0]),
          data_of<Wide<Stored>>(bound.writes[1]),
          x.columns,
          op.epsilon};
}

template <class Stored, class Exec>
void launch(Exec& exec, const LayerNorm& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns, layer_norm_body<Stored>(op, bound));
}

template <class Stored, class Exec>
void launch(Exec& exec, const LayerNormInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows, dy.columns,
            LayerNormInputGradientBody<Stored>{data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                               data_of<Stored>(bound.reads[2]),
                                               data_of<Wide<Stored>>(bound.reads[3]),
                                               data_of<Stored>(bound.writes[0]), dy.columns});
}

template <class Stored, class Exec>
void launch(Exec& exec, const LayerNormWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  const Stored *gradient = data_of<Stored>(dy), *x = data_of<Stored>(bound.reads[1]);
  exec.column_sums(dy.rows, dy.columns,
                   LayerNormWeightGradientTerm<Stored>{data_of<Wide<Stored>>(bound.reads[2])},
                   SumTargets<Wide<Stored>, 2>{{data_of<Wide<Stored>>(bound.writes[0]),
                                                data_of<Wide<Stored>>(bound.writes[1])},
                                               op.accumulate},
                   gradient, x);
}

}  // namespace moe
