#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// y = x / sqrt(mean(x^2) + epsilon) * scale of one row, x as the team holds it. Returns the
/// reciprocal root.
template <class Stored, class Team, class Row>
MOE_BODY Wide<Stored> rms_norm_row(Team& team, std::int64_t width, const Row& x,
                                   const Stored* scale, Stored* y, double epsilon) {
  using Real = Wide<Stored>;
  const Real square = team.sum(
                          width, [](Stored value) { return value * value; }, x) /
                      static_cast<Real>(width);
  const Real inverse = Real(1) / std::sqrt(square + static_cast<Real>(epsilon));
  team.map(
      width, y, [=](Stored value, Stored gain) { return value * inverse * gain; }, x, scale);
  return inverse;
}

/// With n = x inverse and g = dy scale: dx = inverse (g - n mean(g n)) of one row.
template <class Stored, class Team>
MOE_BODY void rms_norm_row_gradient(Team& team, std::int64_t width, const Stored* dy,
                                    const Stored* x, const Stored* scale, Wide<Stored> inverse,
                                    Stored* dx) {
  using Real = Wide<Stored>;
  const auto in = team.hold(width, x);
  const auto gradients = team.hold(width, dy);
  const Real dot = team.sum(
      width,
      [=](Stored gradient, Stored gain, Stored value) {
        return gradient * gain * (value * inverse);
      },
      gradients, scale, in);
  const Real mean_dot = dot / static_cast<Real>(width);
  team.map(
      width, dx,
      [=](Stored gradient, Stored gain, Stored value) {
        return inverse * (gradient * gain - value * inverse * mean_dot);
      },
      gradients, scale, in);
}

/// A team per row. The reciprocal root is kept for backward.
template <class Stored>
struct RmsNormBody {
  using Real = Wide<Stored>;
  const Stored* x;
  const Stored* scale;
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
    const Real inverse = rms_norm_row(team, width, in, scale, y + row * width, epsilon);
    if (team.leader()) statistics[row] = inverse;
  }
};

/// A team per row.
template <class Stored>
struct RmsNormInputGradientBody {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* x;
  const Stored* scale;
  const Real* statistics;
  Stored* dx;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    rms_norm_row_gradient(team, width, dy + row * width, x + row * width, scale, statistics[row],
                          dx + row * width);
  }
};

/// d_scale = sum over rows of dy n.
template <class Stored>
struct RmsNormWeightGradientTerm {
  using Real = Wide<Stored>;
  const Real* statistics;

  MOE_BODY Sums<Real, 1> operator()(std::int64_t row, Stored dy, Stored x) const {
    return {dy * (x * statistics[row])};
  }
};

template <class Stored>
RmsNormBody<Stored> rms_norm_body(const RmsNorm& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  return {data_of<Stored>(x),
          data_of<Stored>(bound.reads[1]),
          data_of<Stored>(bound.writes[0]),
          data_of<Wide<Stored>>(bound.writes[1]),
          x.columns,
          op.epsilon};
}

template <class Stored, class Exec>
void launch(Exec& exec, const RmsNorm& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows, x.columns, rms_norm_body<Stored>(op, bound));
}

template <class Stored, class Exec>
void launch(Exec& exec, const RmsNormInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows, dy.columns,
            RmsNormInputGradientBody<Stored>{data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                             data_of<Stored>(bound.reads[2]),
                                             data_of<Wide<Stored>>(bound.reads[3]),
                                             data_of<Stored>(bound.writes[0]), dy.columns});
}

template <class Stored, class Exec>
void launch(Exec& exec, const RmsNormWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  const Stored *gradient = data_of<Stored>(dy), *x = data_of<Stored>(bound.reads[1]);
  exec.column_sums(
      dy.rows, dy.columns, RmsNormWeightGradientTerm<Stored>{data_of<Wide<Stored>>(bound.reads[2])},
      SumTargets<Wide<Stored>, 1>{{data_of<Wide<Stored>>(bound.writes[0])}, op.accumulate},
      gradient, x);
}

}  // namespace moe
