#pragma once

#include "moe/kernels/sent_rows.h"

namespace moe {

/// sent[row of copy] = x[token]. A team per copy, so that each row has one writer.
template <class Real>
struct PermuteBody {
  const Real* x;
  SentRows rows;
  Real* sent;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return;
    const Real* in = x + copy / choices * width;
    Real* out = sent + row * width;
    team.for_each(width, [=](std::int64_t c) { out[c] = in[c]; });
  }
};

/// dx[token] = sum over its copies of d_sent, in the order of the choices. A team per token.
template <class Real>
struct PermuteGradientBody {
  const Real* d_sent;
  SentRows rows;
  Real* dx;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    Real* out = dx + t * width;
    bool empty = true;
    for (std::int64_t copy = t * choices; copy < (t + 1) * choices; ++copy) {
      const std::int64_t row = rows.row_of(copy);
      if (row < 0) continue;
      const Real* in = d_sent + row * width;
      if (empty) {
        team.for_each(width, [=](std::int64_t c) { out[c] = in[c]; });
      } else {
        team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
      }
      empty = false;
    }
    if (empty) team.for_each(width, [=](std::int64_t c) { out[c] = 0; });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const Permute& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows * op.choices, x.columns,
            PermuteBody<Real>{data_of<Real>(x), sent_rows_of(bound, 1, 2, bound.op->chunk),
                              data_of<Real>(bound.writes[0]), x.columns, op.choices});
}

template <class Real, class Exec>
void launch(Exec& exec, const PermuteGradient& op, const BoundOp& bound) {
  const View& dx = bound.writes[0];
  exec.rows(dx.rows, dx.columns,
            PermuteGradientBody<Real>{data_of<Real>(bound.reads[0]), sent_rows_of(bound, 1, 2),
                                      data_of<Real>(dx), dx.columns, op.choices});
}

}  // namespace moe
