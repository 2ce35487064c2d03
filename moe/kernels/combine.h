#pragma once

#include "moe/kernels/sent_rows.h"

namespace moe {

/// y[token] = sum over its copies of weight * returned, in the order of the choices; zero where all
/// copies were dropped. A team per token.
template <class Real>
struct CombineBody {
  const Real* returned;
  SentRows rows;
  const Real* weights;
  Real* y;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    Real* out = y + t * width;
    bool empty = true;
    for (std::int64_t copy = t * choices; copy < (t + 1) * choices; ++copy) {
      const std::int64_t row = rows.row_of(copy);
      if (row < 0) continue;
      const Real* in = returned + row * width;
      const Real weight = weights[copy];
      if (empty) {
        team.for_each(width, [=](std::int64_t c) { out[c] = weight * in[c]; });
      } else {
        team.for_each(width, [=](std::int64_t c) { out[c] += weight * in[c]; });
      }
      empty = false;
    }
    if (empty) team.for_each(width, [=](std::int64_t c) { out[c] = 0; });
  }
};

/// d_returned[row of copy] = weight * dy[token]. A team per copy.
template <class Real>
struct CombineInputGradientBody {
  const Real* dy;
  SentRows rows;
  const Real* weights;
  Real* d_returned;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return;
    const Real* in = dy + copy / choices * width;
    Real* out = d_returned + row * width;
    const Real weight = weights[copy];
    team.for_each(width, [=](std::int64_t c) { out[c] = weight * in[c]; });
  }
};

/// d_weight[copy] = dy[token] . returned[row of copy]; zero where dropped. A team per copy.
template <class Real>
struct CombineWeightGradientBody {
  const Real* dy;
  const Real* returned;
  SentRows rows;
  Real* d_weights;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    Real dot = 0;
    if (row >= 0) {
      const Real* gradient = dy + copy / choices * width;
      const Real* in = returned + row * width;
      dot = team.sum(width, [=](std::int64_t c) { return gradient[c] * in[c]; });
    }
    if (team.leader()) d_weights[copy] = dot;
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const Combine& op, const BoundOp& bound) {
  const View& y = bound.writes[0];
  exec.rows(
      y.rows, y.columns,
      CombineBody<Real>{data_of<Real>(bound.reads[0]), sent_rows_of(bound, 1, 3),
                        data_of<Real>(bound.reads[2]), data_of<Real>(y), y.columns, op.choices});
}

template <class Real, class Exec>
void launch(Exec& exec, const CombineInputGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(
      dy.rows * op.choices, dy.columns,
      CombineInputGradientBody<Real>{data_of<Real>(dy), sent_rows_of(bound, 1, 3, bound.op->chunk),
                                     data_of<Real>(bound.reads[2]), data_of<Real>(bound.writes[0]),
                                     dy.columns, op.choices});
}

template <class Real, class Exec>
void launch(Exec& exec, const CombineWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows * op.choices, dy.columns,
            CombineWeightGradientBody<Real>{
                data_of<Real>(dy), data_of<Real>(bound.reads[1]), sent_rows_of(bound, 2, 3),
                data_of<Real>(bound.writes[0]), dy.columns, op.choices});
}

}  // namespace moe
