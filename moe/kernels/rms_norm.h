#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// y = x / sqrt(mean(x^2) + epsilon) * scale. A team per row. The reciprocal root is kept for
/// backward.
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
    const Stored* in = x + row * width;
    Stored* out = y + row * width;
    const Stored* const gain = scale;
    const Real square =
        team.sum(width, [=](std::int64_t c) { return in[c] * in[c]; }) / static_cast<Real>(width);
    const Real inverse = Real(1) / std::sqrt(square + static_cast<Real>(epsilon));
    team.for_each(width, [=](std::int64_t c) { out[c] = in[c] * inverse * gain[c]; });
    if (team.leader()) statistics[row] = inverse;
  }
};

/// With n = x inverse and g = dy scale: dx = inverse (g - n mean(g n)).
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
    const Stored* in = x + row * width;
    const Stored* gradient = dy + row * width;
    Stored* out = dx + row * width;
    const Stored* const gain = scale;
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
template <class Stored>
struct RmsNormWeightGradientTerms {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* x;
  const Real* statistics;
  std::int64_t width;

  MOE_BODY Sums<Real, 1> operator()(std::int64_t row, std::int64_t column) const {
    return {dy[row * width + column] * (x[row * width + column] * statistics[row])};
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
  exec.column_sums(
      dy.rows, dy.columns,
      RmsNormWeightGradientTerms<Stored>{data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                         data_of<Wide<Stored>>(bound.reads[2]), dy.columns},
      SumTargets<Wide<Stored>, 1>{{data_of<Wide<Stored>>(bound.writes[0])}, op.accumulate});
}

}  // namespace moe
