#pragma once

#include "moe/kernels/sum_copies.h"

namespace moe {

/// sent[row of copy] = x[token]. A team per copy, so that each row has one writer.
template <class Stored>
struct PermuteBody {
  const Stored* x;
  SentRows rows;
  Stored* sent;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return;
    const Stored* in = x + copy / choices * width;
    Stored* out = sent + row * width;
    team.map(
        width, out, [](Stored value) { return value; }, in);
  }
};

/// dx[token] = sum over its copies of d_sent, in the order of the choices. A team per token.
template <class Stored>
struct PermuteGradientBody {
  CopiesOfTokens<Stored> d_sent;
  Stored* dx;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    d_sent.sum(team, t, dx + t * d_sent.width);
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Permute& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  exec.rows(x.rows * op.choices, x.columns,
            PermuteBody<Stored>{data_of<Stored>(x), sent_rows_of(bound, 1, 2, bound.op->chunk),
                                data_of<Stored>(bound.writes[0]), x.columns, op.choices});
}

template <class Stored, class Exec>
void launch(Exec& exec, const PermuteGradient& op, const BoundOp& bound) {
  const View& dx = bound.writes[0];
  const CopiesOfTokens<Stored> d_sent{data_of<Stored>(bound.reads[0]), sent_rows_of(bound, 1, 2),
                                      nullptr, dx.columns, op.choices};
  exec.rows(dx.rows, dx.columns, PermuteGradientBody<Stored>{d_sent, data_of<Stored>(dx)});
}

}  // namespace moe
