#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// The gradient of the gate's weights and of the load-balancing loss with respect to the logits. A
/// team per token.
///
/// With probabilities p and a factor F: weight_j = F p_j; or F p_j / P, P = sum of the chosen p_j,
/// where it normalizes, so d p_j = (F d weight_j - sum_i d weight_i weight_i) / P. The load-balancing loss
/// adds balance_scale * total_demand[e] to d p_e. Then d logit = p (d p - sum p d p).
template <class Real>
struct SoftmaxGateGradientBody {
  const Real* d_weights;
  const Real* probabilities;
  const std::int32_t* chosen;
  const Real* weights;
  const std::int32_t* total_demand;
  Real* d_logits;
  std::int64_t experts;
  int choices;
  Real balance_scale;
  bool normalize;
  Real factor;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* p = probabilities + t * experts;
    const std::int32_t* expert = chosen + t * choices;
    const Real* weight = weights + t * choices;
    const Real* d_weight = d_weights + t * choices;
    const std::int32_t* demand = total_demand;
    Real* out = d_logits + t * experts;
    const Real scale = balance_scale;

    Real mean = 0, sum = 1;
    if (normalize) {
      sum = 0;
      for (int choice = 0; choice < choices; ++choice) {
        mean += d_weight[choice] * weight[choice];
        sum += p[expert[choice]];
      }
    }
    Real dot = team.sum(
        experts, [=](std::int64_t e) { return p[e] * scale * static_cast<Real>(demand[e]); });
    for (int choice = 0; choice < choices; ++choice) {
      dot += p[expert[choice]] * ((factor * d_weight[choice] - mean) / sum);
    }
    team.for_each(experts, [=](std::int64_t e) {
      out[e] = p[e] * (scale * static_cast<Real>(demand[e]) - dot);
    });
    team.sync();
    if (team.leader()) {
      for (int choice = 0; choice < choices; ++choice) {
        out[expert[choice]] += p[expert[choice]] * ((factor * d_weight[choice] - mean) / sum);
      }
    }
  }
};

/// This rank's share of E sum_e f_e P_e, see ops/gate.h. One team; the sum is in double.
template <class Real>
struct LoadBalancingLossBody {
  const Real* probabilities;
  const std::int32_t* total_demand;
  Real* loss;
  std::int64_t tokens, experts;
  double scale;
  bool normalize;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const auto& self = *this;
    const double sum = team.sum(tokens, [&self](std::int64_t t) {
      const Real* p = self.probabilities + t * self.experts;
      double row = 0, all = 0;
      for (std::int64_t e = 0; e < self.experts; ++e) {
        row += static_cast<double>(p[e]) * self.total_demand[e];
        all += static_cast<double>(p[e]);
      }
      return self.normalize ? row / all : row;
    });
    if (team.leader()) *loss = static_cast<Real>(sum * scale);
  }
};

/// E f_e P_e = balance_factor * demand_e * (sum of p_e over all tokens): f_e = demand_e / (k G),
/// P_e = sum / G over the G tokens of all ranks.
inline double balance_factor(int experts, int choices, std::int64_t global_tokens) {
  const double tokens = static_cast<double>(global_tokens);
  return experts / (choices * tokens * tokens);
}

template <class Real, class Exec>
void launch(Exec& exec, const SoftmaxGateGradient& op, const BoundOp& bound) {
  const View& probabilities = bound.reads[1];
  exec.rows(probabilities.rows, op.experts,
            SoftmaxGateGradientBody<Real>{
                data_of<Real>(bound.reads[0]), data_of<Real>(probabilities),
                data_of<std::int32_t>(bound.reads[2]), data_of<Real>(bound.reads[3]),
                data_of<std::int32_t>(bound.reads[4]), data_of<Real>(bound.writes[0]), op.experts,
                op.choices,
                static_cast<Real>(op.auxiliary_weight *
                                  balance_factor(op.experts, op.choices, op.global_tokens)),
                op.normalize, static_cast<Real>(op.factor)});
}

/// With n = s / S, S = sum of s, and g_e = scale demand_e: d s_e += (g_e - sum_i g_i n_i) / S. A
/// team per token.
template <class Real>
struct NormalizedBalanceGradientBody {
  const std::int32_t* total_demand;
  const Real* scores;
  Real* d_scores;
  std::int64_t experts;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int32_t* demand = total_demand;
    const Real* s = scores + t * experts;
    Real* out = d_scores + t * experts;
    const Real all = team.sum(experts, [=](std::int64_t e) { return s[e]; });
    const Real mean = team.sum(experts, [=](std::int64_t e) {
      return s[e] * static_cast<Real>(demand[e]);
    }) / all;
    const Real factor = scale / all;
    team.for_each(
        experts, [=](std::int64_t e) { out[e] += factor * (static_cast<Real>(demand[e]) - mean); });
  }
};

template <class Real>
struct LoadBalancingLossGradientBody {
  const std::int32_t* total_demand;
  Real* d_scores;
  std::int64_t experts;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int32_t* demand = total_demand;
    Real* out = d_scores + t * experts;
    const Real factor = scale;
    team.for_each(experts,
                  [=](std::int64_t e) { out[e] += factor * static_cast<Real>(demand[e]); });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const LoadBalancingLossGradient& op, const BoundOp& bound) {
  const View& d_scores = bound.writes[0];
  const auto scale = static_cast<Real>(op.auxiliary_weight *
                                       balance_factor(op.experts, op.choices, op.global_tokens));
  if (bound.reads.size() > 2) {
    exec.rows(d_scores.rows, op.experts,
              NormalizedBalanceGradientBody<Real>{data_of<std::int32_t>(bound.reads[0]),
                                                  data_of<Real>(bound.reads[2]),
                                                  data_of<Real>(d_scores), op.experts, scale});
    return;
  }
  exec.rows(d_scores.rows, op.experts,
            LoadBalancingLossGradientBody<Real>{data_of<std::int32_t>(bound.reads[0]),
                                                data_of<Real>(d_scores), op.experts, scale});
}

template <class Real, class Exec>
void launch(Exec& exec, const LoadBalancingLoss& op, const BoundOp& bound) {
  const View& probabilities = bound.reads[0];
  exec.rows(1, probabilities.rows,
            LoadBalancingLossBody<Real>{
                data_of<Real>(probabilities), data_of<std::int32_t>(bound.reads[1]),
                data_of<Real>(bound.writes[0]), probabilities.rows, op.experts,
                balance_factor(op.experts, op.choices, op.global_tokens), op.normalize});
}

}  // namespace moe
