#pragma once

#include "moe/kernels/cross_entropy.h"

namespace moe {

/// This rank's share of the mean of log_sum_exp^2. One team; the sum is in double.
template <class Real>
struct RouterZLossBody {
  const Real* log_sum_exp;
  Real* loss;
  std::int64_t tokens, global_tokens;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const Real* z = log_sum_exp;
    const double sum = team.sum(tokens, [=](std::int64_t t) {
      return static_cast<double>(z[t]) * static_cast<double>(z[t]);
    });
    if (team.leader()) *loss = static_cast<Real>(sum / static_cast<double>(global_tokens));
  }
};

/// d z^2 / d logit_e = 2 z softmax_e. A team per token.
template <class Real>
struct RouterZLossGradientBody {
  const Real* logits;
  const Real* log_sum_exp;
  Real* d_logits;
  std::int64_t experts;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* logit = logits + t * experts;
    Real* out = d_logits + t * experts;
    const Real z = log_sum_exp[t];
    const Real factor = 2 * scale * z;
    team.for_each(experts, [=](std::int64_t e) { out[e] += factor * exponential(logit[e] - z); });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const RouterZLoss& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  Real* log_sum_exp = data_of<Real>(bound.writes[1]);
  exec.rows(logits.rows, logits.columns,
            LogSumExpBody<Real>{data_of<Real>(logits), log_sum_exp, logits.columns});
  exec.rows(1, logits.rows,
            RouterZLossBody<Real>{log_sum_exp, data_of<Real>(bound.writes[0]), logits.rows,
                                  op.global_tokens});
}

template <class Real, class Exec>
void launch(Exec& exec, const RouterZLossGradient& op, const BoundOp& bound) {
  const View& d_logits = bound.writes[0];
  exec.rows(
      d_logits.rows, d_logits.columns,
      RouterZLossGradientBody<Real>{
          data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]), data_of<Real>(d_logits),
          d_logits.columns, static_cast<Real>(op.weight / static_cast<double>(op.global_tokens))});
}

}  // namespace moe
