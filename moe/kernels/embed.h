#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// x[t] = the row of the token, if the table has it, + the row of its position, if it is an own
/// token (EmbeddedTokens). position_table may be nullptr. A team per token.
template <class Real>
struct EmbedTokensBody {
  const std::int32_t* tokens;
  const Real* token_table;
  const Real* position_table;
  Real* x;
  std::int64_t width, rows;  ///< rows of the token table
  EmbeddedTokens of;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int64_t id = tokens[t] - of.first_id, own = t - of.own_begin;
    const bool here = id >= 0 && id < rows;
    const Real* token = token_table + (here ? id * width : 0);
    Real* out = x + t * width;
    if (position_table == nullptr || own < 0 || own >= of.own_count) {
      team.for_each(width, [=](std::int64_t c) { out[c] = here ? token[c] : Real(0); });
      return;
    }
    const Real* position = position_table + (of.first_position + own) % of.sequence_length * width;
    team.for_each(width,
                  [=](std::int64_t c) { out[c] = (here ? token[c] : Real(0)) + position[c]; });
  }
};

template <class Real>
struct FillZero {
  Real* out;
  MOE_BODY void operator()(std::int64_t i) const { out[i] = 0; }
};

/// The gradient of the token table, added to its present values. A team per token: of the tokens
/// whose rows the table has, the first one with an id owns that row of the table and adds up all
/// others with the same id in the order of the tokens. Every sum has one owner and one order, so
/// there are no atomics and every run gives the same bits.
template <class Real>
struct TokenTableGradientBody {
  const std::int32_t* tokens;
  const Real* dx;
  Real* d_table;
  std::int64_t count, width, first_id, rows;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int32_t* all = tokens;
    const std::int32_t id = all[t];
    const std::int64_t row = id - first_id;
    if (row < 0 || row >= rows) return;
    const auto same = [=](std::int64_t i) { return all[i] == id; };
    if (team.first(0, t, same) < t) return;
    Real* out = d_table + row * width;
    for (std::int64_t i = t; i < count; i = team.first(i + 1, count, same)) {
      const Real* in = dx + i * width;
      team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
    }
  }
};

/// d_position_table[l] (+)= sum of dx over the own tokens at position l. A team per position.
template <class Real>
struct PositionTableGradientBody {
  const Real* dx;
  Real* d_table;
  std::int64_t count, width;
  EmbeddedTokens of;
  bool accumulate;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t l) const {
    Real* out = d_table + l * width;
    if (!accumulate) team.for_each(width, [=](std::int64_t c) { out[c] = 0; });
    const std::int64_t length = of.sequence_length;
    const std::int64_t begin = of.own_begin + (l - of.first_position + length) % length;
    const std::int64_t end =
        of.own_begin + of.own_count < count ? of.own_begin + of.own_count : count;
    for (std::int64_t t = begin; t < end; t += length) {
      const Real* in = dx + t * width;
      team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
    }
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const EmbedTokens& op, const BoundOp& bound) {
  const View &table = bound.reads[1], &x = bound.writes[0];
  const Real* positions = bound.reads.size() > 2 ? data_of<Real>(bound.reads[2]) : nullptr;
  exec.rows(x.rows, x.columns,
            EmbedTokensBody<Real>{data_of<std::int32_t>(bound.reads[0]), data_of<Real>(table),
                                  positions, data_of<Real>(x), x.columns, table.rows, op});
}

template <class Real, class Exec>
void launch(Exec& exec, const EmbedTokensGradient& op, const BoundOp& bound) {
  const View &dx = bound.reads[1], &table = bound.writes[0];
  Real* d_tokens = data_of<Real>(table);
  if (!op.accumulate && bound.reads.size() < 3) {
    exec.elements(count_of(table), FillZero<Real>{d_tokens});
  }
  exec.rows(dx.rows, dx.columns,
            TokenTableGradientBody<Real>{data_of<std::int32_t>(bound.reads[0]), data_of<Real>(dx),
                                         d_tokens, dx.rows, dx.columns, op.first_id, table.rows});
  if (bound.writes.size() < 2) return;
  exec.rows(bound.writes[1].rows, dx.columns,
            PositionTableGradientBody<Real>{data_of<Real>(dx), data_of<Real>(bound.writes[1]),
                                            dx.rows, dx.columns, op, op.accumulate});
}

}  // namespace moe
