#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// lengths[row] = |row|, at least 1e-12, so that the cosine of a row of zeros with any other is 0.
/// A team per row.
template <class Real>
struct LengthBody {
  const Real* x;
  Real* lengths;
  std::int64_t width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const Real* in = x + row * width;
    const Real length = std::sqrt(team.sum(width, [=](std::int64_t c) { return in[c] * in[c]; }));
    const Real least = Real(1e-12);
    if (team.leader()) lengths[row] = length > least ? length : least;
  }
};

/// 1 / (temperature e^log_scale)
template <class Real>
struct InverseTemperature {
  const Real* log_scale;  ///< may be null
  double temperature;

  MOE_BODY Real value() const {
    const double scale = log_scale != nullptr ? std::exp(static_cast<double>(*log_scale)) : 1;
    return static_cast<Real>(1 / (temperature * scale));
  }
};

/// A team per token; each member of the team computes the logits of some experts.
template <class Real>
struct CosineLogitsBody {
  const Real* tokens;
  const Real* experts;
  const Real* lengths;
  const Real* expert_lengths;
  Real* logits;
  std::int64_t width, count;
  InverseTemperature<Real> inverse;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* token = tokens + t * width;
    const Real* expert = experts;
    const Real* expert_length = expert_lengths;
    Real* out = logits + t * count;
    const std::int64_t dimensions = width;
    const Real factor = inverse.value() / lengths[t];
    team.for_each(count, [=](std::int64_t e) {
      Real dot = 0;
      for (std::int64_t c = 0; c < dimensions; ++c) dot += token[c] * expert[e * dimensions + c];
      out[e] = factor * dot / expert_length[e];
    });
  }
};

/// With unit vectors u of the token and v_e of the experts, logit_e = u . v_e / tau:
///   d token = (sum_e g_e / tau v_e - u sum_e g_e logit_e) / |token|
/// A team per token.
template <class Real>
struct CosineInputGradientBody {
  const Real* d_logits;
  const Real* logits;
  const Real* tokens;
  const Real* experts;
  const Real* lengths;
  const Real* expert_lengths;
  Real* d_tokens;
  std::int64_t width, count;
  InverseTemperature<Real> inverse;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* g = d_logits + t * count;
    const Real* logit = logits + t * count;
    const Real* token = tokens + t * width;
    const Real* expert = experts;
    const Real* expert_length = expert_lengths;
    Real* out = d_tokens + t * width;
    const std::int64_t dimensions = width, all = count;
    const Real along = team.sum(count, [=](std::int64_t e) { return g[e] * logit[e]; });
    const Real factor = inverse.value(), length = lengths[t];
    team.for_each(width, [=](std::int64_t c) {
      Real sum = 0;
      for (std::int64_t e = 0; e < all; ++e) {
        sum += g[e] * expert[e * dimensions + c] / expert_length[e];
      }
      out[c] = (factor * sum - along * token[c] / length) / length;
    });
  }
};

/// The same for the experts, with sums over all tokens. A team per expert.
template <class Real>
struct CosineWeightGradientBody {
  const Real* d_logits;
  const Real* logits;
  const Real* tokens;
  const Real* experts;
  const Real* lengths;
  const Real* expert_lengths;
  Real* d_experts;
  std::int64_t rows, width, count;
  InverseTemperature<Real> inverse;
  bool accumulate;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    const Real* g = d_logits + expert;
    const Real* logit = logits + expert;
    const Real* token_length = lengths;
    const Real* own = experts + expert * width;
    Real* out = d_experts + expert * width;
    const std::int64_t dimensions = width, all = count;
    const Real along = team.sum(rows, [=](std::int64_t t) { return g[t * all] * logit[t * all]; });
    const Real factor = inverse.value(), length = expert_lengths[expert];
    for (std::int64_t c = 0; c < width; ++c) {
      const Real* column = tokens + c;
      const Real sum = team.sum(rows, [=](std::int64_t t) {
        return g[t * all] * column[t * dimensions] / token_length[t];
      });
      if (!team.leader()) continue;
      const Real gradient = (factor * sum - along * own[c] / length) / length;
      out[c] = accumulate ? out[c] + gradient : gradient;
    }
  }
};

/// d log_scale = - sum of d_logit logit. One team; the sum is in double.
template <class Real>
struct LogScaleGradientBody {
  const Real* d_logits;
  const Real* logits;
  Real* d_log_scale;
  std::int64_t elements;
  bool accumulate;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const Real* g = d_logits;
    const Real* logit = logits;
    const double sum = team.sum(elements, [=](std::int64_t i) {
      return static_cast<double>(g[i]) * static_cast<double>(logit[i]);
    });
    if (!team.leader()) return;
    const Real gradient = static_cast<Real>(-sum);
    *d_log_scale = accumulate ? *d_log_scale + gradient : gradient;
  }
};

/// The temperature of an op, which reads a scale at `position` where the scale is learned.
template <class Real>
InverseTemperature<Real> inverse_temperature(const BoundOp& bound, std::size_t position,
                                             bool learned, double temperature) {
  return {learned ? data_of<Real>(bound.reads[position]) : nullptr, temperature};
}

template <class Real, class Exec>
void launch(Exec& exec, const CosineLogits& op, const BoundOp& bound) {
  const View &tokens = bound.reads[0], &experts = bound.reads[1];
  Real *lengths = data_of<Real>(bound.writes[1]), *expert_lengths = data_of<Real>(bound.writes[2]);
  exec.rows(tokens.rows, tokens.columns,
            LengthBody<Real>{data_of<Real>(tokens), lengths, tokens.columns});
  exec.rows(experts.rows, experts.columns,
            LengthBody<Real>{data_of<Real>(experts), expert_lengths, experts.columns});
  exec.rows(tokens.rows, experts.rows,
            CosineLogitsBody<Real>{
                data_of<Real>(tokens), data_of<Real>(experts), lengths, expert_lengths,
                data_of<Real>(bound.writes[0]), tokens.columns, experts.rows,
                inverse_temperature<Real>(bound, 2, bound.reads.size() > 2, op.temperature)});
}

template <class Real, class Exec>
void launch(Exec& exec, const CosineLogitsInputGradient& op, const BoundOp& bound) {
  const View &tokens = bound.reads[2], &experts = bound.reads[3];
  exec.rows(
      tokens.rows, experts.rows,
      CosineInputGradientBody<Real>{
          data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]), data_of<Real>(tokens),
          data_of<Real>(experts), data_of<Real>(bound.reads[4]), data_of<Real>(bound.reads[5]),
          data_of<Real>(bound.writes[0]), tokens.columns, experts.rows,
          inverse_temperature<Real>(bound, 6, bound.reads.size() > 6, op.temperature)});
}

template <class Real, class Exec>
void launch(Exec& exec, const CosineLogitsWeightGradient& op, const BoundOp& bound) {
  const View &tokens = bound.reads[2], &experts = bound.reads[3];
  const bool learned = bound.writes.size() > 1;
  exec.rows(
      experts.rows, tokens.rows,
      CosineWeightGradientBody<Real>{
          data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]), data_of<Real>(tokens),
          data_of<Real>(experts), data_of<Real>(bound.reads[4]), data_of<Real>(bound.reads[5]),
          data_of<Real>(bound.writes[0]), tokens.rows, tokens.columns, experts.rows,
          inverse_temperature<Real>(bound, 6, learned, op.temperature), op.accumulate});
  if (!learned) return;
  exec.rows(1, tokens.rows,
            LogScaleGradientBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                                       data_of<Real>(bound.writes[1]), tokens.rows * experts.rows,
                                       op.accumulate});
}

}  // namespace moe
