#pragma once

#include <algorithm>
#include <cstdint>

#include "moe/kernels/device.h"
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
      team.for_each(width, [=](std::int64_t c) { out[c] = here ? Real(token[c]) : Real(0); });
      return;
    }
    const Stored* position =
        position_table + (of.first_position + own) % of.sequence_length * width;
    team.for_each(
        width, [=](std::int64_t c) { out[c] = (here ? Real(token[c]) : Real(0)) + position[c]; });
  }
};

template <class Real>
struct FillZero {
  Real* out;
  MOE_BODY void operator()(std::int64_t i) const { out[i] = 0; }
};

/// How the gradient of a token table is shared out: the columns that a team adds up, and the rows
/// that it has under way at a time.
struct TokenTableTile {
  std::int64_t columns;
  int rows;
};

/// The gradient of the token table, added to its present values. A team per share of the ids, those
/// that are equal modulo the number of shares, and tile of the columns. It looks through all tokens
/// and adds those of its ids, if the table has their rows, in the order of the tokens. Every sum
/// has one owner and one order, so there are no atomics and every run gives the same bits.
/// `at_once`: how many rows are loaded before the first is added.
template <class Stored, int at_once>
struct TokenTableGradientBody {
  using Real = Wide<Stored>;
  const std::int32_t* tokens;
  const Stored* dx;
  Real* d_table;
  std::int64_t count, width, first_id, rows;
  std::int64_t tile_width, tiles;
  std::int32_t shares;  ///< a power of two

  /// Enough for the threads of a device; more would look through the tokens more often. `ids`: how
  /// many there are.
  static std::int32_t shares_of(std::int64_t ids) {
    std::int32_t shares = 1;
    while (shares < 512 && shares < ids) shares *= 2;
    return shares;
  }

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t work) const {
    const std::int64_t begin = work % tiles * tile_width;
    const std::int64_t left = width - begin;
    const std::int64_t columns = left < tile_width ? left : tile_width;
    const std::int32_t* all = tokens;
    const auto own = static_cast<std::int32_t>(work / tiles), mask = shares - 1;
    const std::int64_t first = first_id, table_rows = rows;
    const auto is_own = [=](std::int64_t i) {
      const std::int64_t row = all[i] - first;
      return (all[i] & mask) == own && row >= 0 && row < table_rows;
    };
    Real* out = d_table + begin;
    const Stored* in = dx + begin;
    const std::int64_t stride = width;
    for (std::int64_t i = 0; i < count;) {
      Found found;
      for (int k = 0; k < at_once; ++k) {
        if (i < count) i = team.first(i, count, is_own);
        found.row[k] = i < count ? all[i] - first : -1;
        found.token[k] = i++;
      }
      team.for_each(columns, [=](std::int64_t c) {
        Real values[at_once];
        for (int k = 0; k < at_once; ++k) {
          values[k] = found.row[k] < 0 ? Real(0) : Real(in[found.token[k] * stride + c]);
        }
        std::int64_t row = -1;
        Real sum = 0;
        for (int k = 0; k < at_once; ++k) {
          if (found.row[k] < 0) continue;
          if (found.row[k] != row) {
            if (row >= 0) out[row * stride + c] = sum;
            row = found.row[k];
            sum = out[row * stride + c];
          }
          sum += values[k];
        }
        if (row >= 0) out[row * stride + c] = sum;
      });
    }
  }

 private:
  struct Found {
    std::int64_t row[at_once], token[at_once];  ///< row < 0: there are no more
  };
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
    if (!accumulate) team.for_each(width, [=](std::int64_t c) { out[c] = 0; });
    const std::int64_t length = of.sequence_length;
    const std::int64_t begin = of.own_begin + (l - of.first_position + length) % length;
    const std::int64_t end =
        of.own_begin + of.own_count < count ? of.own_begin + of.own_count : count;
    for (std::int64_t t = begin; t < end; t += length) {
      const Stored* in = dx + t * width;
      team.for_each(width, [=](std::int64_t c) { out[c] += in[c]; });
    }
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
  auto* d_tokens = data_of<Wide<Stored>>(table);
  if (!op.accumulate && bound.reads.size() < 3) {
    exec.elements(count_of(table), FillZero<Wide<Stored>>{d_tokens});
  }
  using Body = TokenTableGradientBody<Stored, Exec::kTokenTableTile.rows>;
  const std::int32_t shares = Body::shares_of(table.rows);
  const std::int64_t width = dx.columns, tile = std::min(width, Exec::kTokenTableTile.columns);
  const std::int64_t tiles = tile == 0 ? 0 : (width + tile - 1) / tile;
  exec.rows(shares * tiles, tile,
            Body{data_of<std::int32_t>(bound.reads[0]), data_of<Stored>(dx), d_tokens, dx.rows,
                 width, op.first_id, table.rows, tile, tiles, shares});
  if (bound.writes.size() < 2) return;
  exec.rows(
      bound.writes[1].rows, dx.columns,
      PositionTableGradientBody<Stored>{data_of<Stored>(dx), data_of<Wide<Stored>>(bound.writes[1]),
                                        dx.rows, dx.columns, op, op.accumulate});
}

}  // namespace moe
