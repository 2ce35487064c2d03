#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// x[t] = token_table[tokens[t]] + position_table[(first + t) mod L]; the latter may be nullptr. A
/// team per token.
template <class Real>
struct EmbedTokensBody {
  const std::int32_t* tokens;
  const Real* token_table;
  const Real* position_table;
  Real* x;
  std::int64_t width, sequence_length, first;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* token = token_table + tokens[t] * width;
    Real* out = x + t * width;
    if (position_table == nullptr) {
      team.for_each(width, [=](std::int64_t c) { out[c] = token[c]; });
      return;
    }
    const Real* position = position_table + (first + t) % sequence_length * width;
    team.for_each(width, [=](std::int64_t c) { out[c] = token[c] + position[c]; });
  }
};

template <class Real>
struct FillZero {
  Real* out;
  MOE_BODY void operator()(std::int64_t i) const { out[i] = 0; }
};

/// The gradient of the token table, added to its present values. A team per token: the first token
/// with an id owns that row of the table and adds up all others with the same id in the order of
/// the tokens. Every sum has one owner and one order, so there are no atomics and every run gives
/// the same bits.
template <class Real>
struct TokenTableGradientBody {
  const std::int32_t* tokens;
  const Real* dx;
  Real* d_table;
  std::int64_t count, width;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int32_t* all = tokens;
    const std::int32_t id = all[t];
    const auto same = [=](std::int64_t i) { return all[i] == id; };
    if (team.first(0, t, same) < t) return;
    Real* out = d_table + id * width;
    for (std::int64_t i = t; i < count; i = team.first(i + 1, count, same)) {
      const Real* in = dx + i * width;
      team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
    }
  }
};

/// d_position_table[l] (+)= sum of dx over the tokens at position l. A team per position.
template <class Real>
struct PositionTableGradientBody {
  const Real* dx;
  Real* d_table;
  std::int64_t count, width, sequence_length, first;  ///< position of the first token
  bool accumulate;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t l) const {
    Real* out = d_table + l * width;
    if (!accumulate) team.for_each(width, [=](std::int64_t c) { out[c] = 0; });
    const std::int64_t begin = (l - first + sequence_length) % sequence_length;
    for (std::int64_t t = begin; t < count; t += sequence_length) {
      const Real* in = dx + t * width;
      team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
    }
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const EmbedTokens& op, const BoundOp& bound) {
  const View& x = bound.writes[0];
  const Real* positions = bound.reads.size() > 2 ? data_of<Real>(bound.reads[2]) : nullptr;
  exec.rows(x.rows, x.columns,
            EmbedTokensBody<Real>{data_of<std::int32_t>(bound.reads[0]),
                                  data_of<Real>(bound.reads[1]), positions, data_of<Real>(x),
                                  x.columns, op.sequence_length, op.first_position});
}

template <class Real, class Exec>
void launch(Exec& exec, const EmbedTokensGradient& op, const BoundOp& bound) {
  const View& dx = bound.reads[1];
  Real* d_tokens = data_of<Real>(bound.writes[0]);
  if (!op.accumulate && bound.reads.size() < 3) {
    exec.elements(count_of(bound.writes[0]), FillZero<Real>{d_tokens});
  }
  exec.rows(dx.rows, dx.columns,
            TokenTableGradientBody<Real>{data_of<std::int32_t>(bound.reads[0]), data_of<Real>(dx),
                                         d_tokens, dx.rows, dx.columns});
  if (bound.writes.size() < 2) return;
  exec.rows(bound.writes[1].rows, dx.columns,
            PositionTableGradientBody<Real>{data_of<Real>(dx), data_of<Real>(bound.writes[1]),
                                            dx.rows, dx.columns, op.sequence_length,
                                            op.first_position, op.accumulate});
}

}  // namespace moe
