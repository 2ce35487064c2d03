#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// e^(x - the largest x of the row). A team per token.
template <class Real>
struct ShiftedExponentialsBody {
  const Real* logits;
  Real* values;
  std::int64_t experts;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* in = logits + t * experts;
    Real* out = values + t * experts;
    const Real largest = team.max(experts, [=](std::int64_t e) { return in[e]; });
    team.for_each(experts, [=](std::int64_t e) { out[e] = exponential(in[e] - largest); });
  }
};

/// A team per token. Factors of experts are 1 in the `first` round.
template <class Real>
struct TokenFactorBody {
  const Real* values;
  const Real* expert_factors;
  Real* token_factors;
  std::int64_t experts, group_tokens;
  bool first;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* value = values + t * experts;
    const Real* factor = expert_factors + t / group_tokens * experts;
    const bool alone = first;
    const Real sum =
        team.sum(experts, [=](std::int64_t e) { return alone ? value[e] : factor[e] * value[e]; });
    if (team.leader()) token_factors[t] = Real(1) / (static_cast<Real>(group_tokens) * sum);
  }
};

/// A team per group and expert.
template <class Real>
struct ExpertFactorBody {
  static constexpr bool kFewLongRows = true;
  const Real* values;
  const Real* token_factors;
  Real* expert_factors;
  std::int64_t experts, group_tokens;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const std::int64_t group = row / experts, stride = experts;
    const Real* value = values + group * group_tokens * experts + row % experts;
    const Real* factor = token_factors + group * group_tokens;
    const Real sum =
        team.sum(group_tokens, [=](std::int64_t t) { return factor[t] * value[t * stride]; });
    constexpr Real kLeastShare = static_cast<Real>(1e-8);
    if (team.leader()) {
      expert_factors[row] = Real(1) / (static_cast<Real>(experts) * (sum + kLeastShare));
    }
  }
};

/// A team per token. Without a factor the ranking is the logits.
template <class Real>
struct RankingByFactorsBody {
  const Real* logits;
  const Real* expert_factors;  ///< null: all are 1
  Real* ranking;
  std::int64_t experts, group_tokens;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* in = logits + t * experts;
    const Real* factor =
        expert_factors == nullptr ? nullptr : expert_factors + t / group_tokens * experts;
    Real* out = ranking + t * experts;
    team.for_each(experts, [=](std::int64_t e) {
      out[e] = factor == nullptr ? in[e] : in[e] + static_cast<Real>(std::log(factor[e]));
    });
  }
};

/// The ranking holds e^logits as long as rounds need them.
template <class Real, class Exec>
void launch(Exec& exec, const BalanceRanking& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  const std::int64_t tokens = logits.rows, experts = logits.columns;
  if (op.groups < 1 || tokens % op.groups != 0) {
    throw std::logic_error("balance_ranking: " + std::to_string(tokens) + " tokens in " +
                           std::to_string(op.groups) + " groups");
  }
  const std::int64_t group_tokens = tokens / op.groups;
  Real* const ranking = data_of<Real>(bound.writes[0]);
  Real* const of_tokens = data_of<Real>(bound.writes[1]);
  Real* const of_experts = data_of<Real>(bound.writes[2]);
  const Real* const in = data_of<Real>(logits);
  if (op.rounds > 0) {
    exec.rows(tokens, experts, ShiftedExponentialsBody<Real>{in, ranking, experts});
  }
  for (int round = 0; round < op.rounds; ++round) {
    exec.rows(
        tokens, experts,
        TokenFactorBody<Real>{ranking, of_experts, of_tokens, experts, group_tokens, round == 0});
    exec.rows(op.groups * experts, group_tokens,
              ExpertFactorBody<Real>{ranking, of_tokens, of_experts, experts, group_tokens});
  }
  exec.rows(tokens, experts,
            RankingByFactorsBody<Real>{in, op.rounds > 0 ? of_experts : nullptr, ranking, experts,
                                       group_tokens});
}

}  // namespace moe
