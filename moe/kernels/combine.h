#pragma once

#include "moe/kernels/sum_copies.h"

namespace moe {

/// y[token] = sum over its copies of weight * returned, in the order of the choices; zero where all
/// copies were dropped. A team per token.
template <class Stored>
struct CombineBody {
  CopiesOfTokens<Stored> returned;
  Stored* y;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    returned.sum(team, t, y + t * returned.width);
  }
};

/// d_returned[row of copy] = weight * dy[token]. A team per copy.
template <class Stored>
struct CombineInputGradientBody {
  const Stored* dy;
  SentRows rows;
  const Wide<Stored>* weights;
  Stored* d_returned;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return;
    const Stored* in = dy + copy / choices * width;
    Stored* out = d_returned + row * width;
    const Wide<Stored> weight = weights[copy];
    team.map(
        width, out, [=](Stored gradient) { return weight * gradient; }, in);
  }
};

/// d_weight[copy] = dy[token] . returned[row of copy]; zero where dropped. A team per copy.
template <class Stored>
struct CombineWeightGradientBody {
  const Stored* dy;
  const Stored* returned;
  SentRows rows;
  Wide<Stored>* d_weights;
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t copy) const {
    const std::int64_t row = rows.row_of(copy);
    Wide<Stored> dot = 0;
    if (row >= 0) {
      const Stored* gradient = dy + copy / choices * width;
      const Stored* in = returned + row * width;
      dot = team.sum(
          width, [](Stored dy_c, Stored y_c) { return dy_c * y_c; }, gradient, in);
    }
    if (team.leader()) d_weights[copy] = dot;
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Combine& op, const BoundOp& bound) {
  const View& y = bound.writes[0];
  const CopiesOfTokens<Stored> returned{data_of<Stored>(bound.reads[0]), sent_rows_of(bound, 1, 3),
                                        data_of<Wide<Stored>>(bound.reads[2]), y.columns,
                                        op.choices};
  exec.rows(y.rows, y.columns, CombineBody<Stored>{returned, data_of<Stored>(y)});
}

template <class Stored, class Exec>
void launch(Exec& exec, const CombineInputGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows * op.choices, dy.columns,
            CombineInputGradientBody<Stored>{
                data_of<Stored>(dy), sent_rows_of(bound, 1, 3, bound.op->chunk),
                data_of<Wide<Stored>>(bound.reads[2]), data_of<Stored>(bound.writes[0]), dy.columns,
                op.choices});
}

template <class Stored, class Exec>
void launch(Exec& exec, const CombineWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.rows(dy.rows * op.choices, dy.columns,
            CombineWeightGradientBody<Stored>{
                data_of<Stored>(dy), data_of<Stored>(bound.reads[1]), sent_rows_of(bound, 2, 3),
                data_of<Wide<Stored>>(bound.writes[0]), dy.columns, op.choices});
}

}  // namespace moe
