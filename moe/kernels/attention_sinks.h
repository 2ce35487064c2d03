#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// What a sink's gradient gets from a query: -p (sum of dy y), p the share of the sink. A team per
/// token and head; `terms` are [T, heads].
template <class Stored>
struct SinkTermBody {
  using Real = Wide<Stored>;
  const Stored* dy;
  const Stored* y;
  const Real* log_sum_exp;
  const Stored* sinks;
  Real* terms;
  std::int64_t heads, length, head_width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t i) const {
    const std::int64_t token = i / heads, head = i % heads;
    const Stored* gradient = dy + i * head_width;
    const Stored* out = y + i * head_width;
    const Real dot =
        team.sum(head_width, [=](std::int64_t c) { return Real(gradient[c]) * Real(out[c]); });
    if (!team.leader()) return;
    const std::int64_t at = (token / length * heads + head) * length + token % length;
    terms[i] = -dot * std::exp(Real(sinks[head]) - log_sum_exp[at]);
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const AttentionSinkGradient& op, const BoundOp& bound) {
  using Real = Wide<Stored>;
  const View& dy = bound.reads[0];
  const std::int64_t heads = bound.reads[3].columns, head_width = dy.columns / heads;
  Real* terms = data_of<Real>(bound.writes[1]);
  exec.rows(dy.rows * heads, head_width,
            SinkTermBody<Stored>{data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                 data_of<Real>(bound.reads[2]), data_of<Stored>(bound.reads[3]),
                                 terms, heads, op.sequence_length, head_width});
  exec.column_sums(dy.rows, heads, ElementTerm<Real>{},
                   SumTargets<Real, 1>{{data_of<Real>(bound.writes[0])}, op.accumulate},
                   static_cast<const Real*>(terms));
}

}  // namespace moe
