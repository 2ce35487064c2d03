#pragma once

#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/sorted_tokens.h"
#include "moe/kernels/view.h"

namespace moe {

/// x[t] = the row of the token, if the table has it, + the row of its position, if it is an own
/// token (EmbeddedTokens). position_table may be nullptr. A team per token.
template <class Stored>
struct EmbedTokensBody {
  using Real = Wide<Stored>;
  const std::int32_t* tokens;
  const Stored* token_table;
  const Stored* position_table;
  Stored* x;
  std::int64_t width, rows;  ///< rows of the token table
  EmbeddedTokens of;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const std::int64_t id = tokens[t] - of.first_id, own = t - of.own_begin;
    const bool here = id >= 0 && id < rows;
    const Stored* token = token_table + (here ? id * width : 0);
    Stored* out = x + t * width;
    if (position_table == nullptr || own < 0 || own >= of.own_count) {
      team.map(
          width, out, [=](Stored value) { return here ? Real(value) : Real(0); }, token);
      return;
    }
    const Stored* position =
        position_table + (of.first_position + own) % of.sequence_length * width;
    team.map(
        width, out,
        [=](Stored value, Stored shift) { return (here ? Real(value) : Real(0)) + shift; }, token,
        position);
  }
};

template <class Real>
struct Zero {
  MOE_BODY Real operator()() const { return 0; }
};

/// The gradient of the token table, added to its present values, on a processor. A team per share of
/// the ids, those that are equal modulo the number of shares. It looks through all tokens and adds
/// those of its ids, if the table has their rows, in the order of the tokens. Every sum has one owner
/// and one order, so there are no atomics and every run gives the same bits.
template <class Stored>
struct TokenTableGradientBody {
  using Real = Wide<Stored>;
  const std::int32_t* tokens;
  const Stored* dx;
  Real* d_table;
  std::int64_t count, width, first_id, rows;
  std::int32_t shares;  ///< a power of two

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t share) const {
    const std::int32_t* all = tokens;
    const auto own = static_cast<std::int32_t>(share), mask = shares - 1;
    const std::int64_t first = first_id, table_rows = rows;
    const auto is_own = [=](std::int64_t i) {
      const std::int64_t row = all[i] - first;
      return (all[i] & mask) == own && row >= 0 && row < table_rows;
    };
    for (std::int64_t i = 0; (i = team.first(i, count, is_own)) < count; ++i) {
      Real* out = d_table + (all[i] - first) * width;
      const Stored* in = dx + i * width;
      team.for_each(width, [=](std::int64_t c) { out[c] = out[c] + in[c]; });
    }
  }
};

/// d_position_table[l] (+)= sum of dx over the own tokens at position l. A team per position.
template <class Stored>
struct PositionTableGradientBody {
  const Stored* dx;
  Wide<Stored>* d_table;
  std::int64_t count, width;
  EmbeddedTokens of;
  bool accumulate;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t l) const {
    Wide<Stored>* out = d_table + l * width;
    const std::int64_t length = of.sequence_length;
    const std::int64_t begin = of.own_begin + (l - of.first_position + length) % length;
    const std::int64_t end =
        of.own_begin + of.own_count < count ? of.own_begin + of.own_count : count;
    // All are maps of the same types, so that a member goes on with its own elements.
    bool empty = !accumulate;
    for (std::int64_t t = begin; t < end; t += length) {
      const Stored* in = dx + t * width;
      if (empty) {
        team.map(
            width, out, [](Stored term) { return Wide<Stored>(0) + term; }, in);
      } else {
        team.map(
            width, out, [](Wide<Stored> sum, Stored term) { return sum + term; }, out, in);
      }
      empty = false;
    }
    if (empty) team.map(width, out, Zero<Wide<Stored>>{});
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const EmbedTokens& op, const BoundOp& bound) {
  const View &table = bound.reads[1], &x = bound.writes[0];
  const Stored* positions = bound.reads.size() > 2 ? data_of<Stored>(bound.reads[2]) : nullptr;
  exec.rows(x.rows, x.columns,
            EmbedTokensBody<Stored>{data_of<std::int32_t>(bound.reads[0]), data_of<Stored>(table),
                                    positions, data_of<Stored>(x), x.columns, table.rows, op});
}

template <class Stored, class Exec>
void launch(Exec& exec, const EmbedTokensGradient& op, const BoundOp& bound) {
  const View &dx = bound.reads[1], &table = bound.writes[0];
  const std::int32_t* tokens = data_of<std::int32_t>(bound.reads[0]);
  auto* d_tokens = data_of<Wide<Stored>>(table);
  const bool onto = op.accumulate || bound.reads.size() > 2;
  if (!onto) exec.map(count_of(table), d_tokens, Zero<Wide<Stored>>{});
  const TokensOfTable of{tokens, dx.rows, op.first_id, table.rows};
  if (!sum_sorted_tokens(exec, of, data_of<Stored>(dx), d_tokens, dx.columns, onto)) {
    const std::int32_t shares = token_shares(table.rows);
    exec.rows(shares, dx.columns,
              TokenTableGradientBody<Stored>{tokens, data_of<Stored>(dx), d_tokens, dx.rows,
                                             dx.columns, op.first_id, table.rows, shares});
  }
  if (bound.writes.size() < 2) return;
  exec.rows(
      bound.writes[1].rows, dx.columns,
      PositionTableGradientBody<Stored>{data_of<Stored>(dx), data_of<Wide<Stored>>(bound.writes[1]),
                                        dx.rows, dx.columns, op, op.accumulate});
}

}  // namespace moe
