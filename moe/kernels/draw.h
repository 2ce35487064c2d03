#pragma once

#include "moe/kernels/counter_random.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// The key of one token's random numbers. The number of an expert is drawn from mix(key ^ expert).
MOE_BODY std::uint64_t token_key(std::int64_t seed, std::int64_t layer, std::int64_t iteration,
                                 std::int64_t token) {
  std::uint64_t key = mix(static_cast<std::uint64_t>(seed));
  key = mix(key ^ static_cast<std::uint64_t>(layer));
  key = mix(key ^ static_cast<std::uint64_t>(iteration));
  return mix(key ^ static_cast<std::uint64_t>(token));
}

/// Normal noise, in double whatever the gate computes in, so that float and double rank experts by
/// the same noise.
MOE_BODY double noise(std::uint64_t key, std::int64_t expert) {
  return normal(mix(key ^ static_cast<std::uint64_t>(expert)));
}

/// log(1 + e^x)
template <class Real>
MOE_BODY Real softplus(Real x) {
  const Real size = x < 0 ? -x : x;
  return (x > 0 ? x : Real(0)) + std::log1p(exponential(-size));
}

/// A team per token.
template <class Real>
struct AddNoiseBody {
  const Real* logits;
  const Real* deviations;
  const std::int32_t* step;
  Real* noisy;
  std::int64_t experts;
  Draw draw;
  bool quiet;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* logit = logits + t * experts;
    const Real* deviation = deviations + t * experts;
    Real* out = noisy + t * experts;
    if (quiet) {
      team.for_each(experts, [=](std::int64_t e) { out[e] = logit[e]; });
      return;
    }
    const std::uint64_t key = token_key(draw.seed, draw.layer, *step, draw.first_token + t);
    team.for_each(experts, [=](std::int64_t e) {
      out[e] = logit[e] + static_cast<Real>(noise(key, e)) * softplus(deviation[e]);
    });
  }
};

/// d softplus(x) = 1 / (1 + e^-x). A team per token.
template <class Real>
struct AddNoiseGradientBody {
  const Real* d_noisy;
  const Real* deviations;
  const std::int32_t* step;
  Real* d_deviations;
  std::int64_t experts;
  Draw draw;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* dy = d_noisy + t * experts;
    const Real* deviation = deviations + t * experts;
    Real* out = d_deviations + t * experts;
    const std::uint64_t key = token_key(draw.seed, draw.layer, *step, draw.first_token + t);
    team.for_each(experts, [=](std::int64_t e) {
      out[e] = dy[e] * static_cast<Real>(noise(key, e)) / (Real(1) + exponential(-deviation[e]));
    });
  }
};

/// Uniform numbers drawn by token id, or by iteration and place of the token where there are no
/// ids. A team per token.
template <class Real>
struct DrawRankingBody {
  const std::int32_t* ids;
  const std::int32_t* step;
  Real* ranking;
  std::int64_t experts;
  Draw draw;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    Real* out = ranking + t * experts;
    const std::uint64_t key = ids != nullptr
                                  ? token_key(draw.seed, draw.layer, 0, ids[t])
                                  : token_key(draw.seed, draw.layer, *step, draw.first_token + t);
    team.for_each(experts, [=](std::int64_t e) {
      out[e] = short_unit<Real>(mix(key ^ static_cast<std::uint64_t>(e)));
    });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const AddNoise& op, const BoundOp& bound) {
  const View& noisy = bound.writes[0];
  exec.rows(noisy.rows, noisy.columns,
            AddNoiseBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                               data_of<std::int32_t>(bound.reads[2]), data_of<Real>(noisy),
                               noisy.columns, op.draw, op.quiet});
}

template <class Real, class Exec>
void launch(Exec& exec, const AddNoiseGradient& op, const BoundOp& bound) {
  const View& d_deviations = bound.writes[0];
  exec.rows(d_deviations.rows, d_deviations.columns,
            AddNoiseGradientBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                                       data_of<std::int32_t>(bound.reads[2]),
                                       data_of<Real>(d_deviations), d_deviations.columns, op.draw});
}

template <class Real, class Exec>
void launch(Exec& exec, const DrawRanking& op, const BoundOp& bound) {
  const View& ranking = bound.writes[0];
  exec.rows(ranking.rows, ranking.columns,
            DrawRankingBody<Real>{nullptr, data_of<std::int32_t>(bound.reads[0]),
                                  data_of<Real>(ranking), ranking.columns, op.draw});
}

template <class Real, class Exec>
void launch(Exec& exec, const HashTokens& op, const BoundOp& bound) {
  const View& ranking = bound.writes[0];
  exec.rows(
      ranking.rows, ranking.columns,
      DrawRankingBody<Real>{data_of<std::int32_t>(bound.reads[0]), nullptr, data_of<Real>(ranking),
                            ranking.columns, Draw{op.seed, op.layer, 0}});
}

}  // namespace moe
