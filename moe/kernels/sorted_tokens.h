#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "moe/kernels/bf16.h"
#include "moe/kernels/device.h"
#include "moe/kernels/weighted_row.h"

/// The gradient of a token table where an executor has room to sort the tokens by their ids: the
/// tokens of an id adjoin, in their order, and a team adds up those of one id.
namespace moe {

/// Into how many shares ids are dealt, those that are equal modulo that number: a power of two,
/// enough for the threads of a device. `ids`: how many there are.
inline std::int32_t token_shares(std::int64_t ids) {
  std::int32_t shares = 1;
  while (shares < 512 && shares < ids) shares *= 2;
  return shares;
}

/// The tokens whose ids have a row of the table.
struct TokensOfTable {
  const std::int32_t* tokens;
  std::int64_t count, first_id, rows;

  /// Of token i; -1 where the table lacks it.
  MOE_BODY std::int32_t row_of(std::int64_t i) const {
    const std::int64_t row = tokens[i] - first_id;
    return row >= 0 && row < rows ? static_cast<std::int32_t>(row) : -1;
  }
};

/// The tokens by share, then row, then position.
struct SortedTokens {
  std::int32_t* order;  ///< as many as all tokens, of which the first `*found` are there
  std::int32_t* rows;   ///< of each; while a share is sorted, its other half
  std::int32_t* begin;  ///< by row of the table: where its tokens begin
  std::int32_t* end;
  std::int32_t* found;

  static std::size_t bytes(const TokensOfTable& of) {
    return static_cast<std::size_t>(2 * (of.count + of.rows) + 1) * sizeof(std::int32_t);
  }
  static SortedTokens in(std::int32_t* room, const TokensOfTable& of) {
    std::int32_t *const rows = room + of.count, *const begin = rows + of.count;
    return {room, rows, begin, begin + of.rows, begin + 2 * of.rows};
  }
};

/// A team per share. It gathers its tokens in their order, and deals them out by one bit of their
/// rows after the other, from the lowest that the share leaves open.
struct SortTokensBody {
  static constexpr bool kWideRows = true;
  TokensOfTable of;
  SortedTokens sorted;
  std::int32_t shares;
  int bits;  ///< of a row, beyond those that are equal in a share

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t share) const {
    const TokensOfTable all = of;
    const auto own = static_cast<std::int32_t>(share), mask = shares - 1;
    const std::int32_t begin = team.sum(all.count, [=](std::int64_t i) {
      const std::int32_t row = all.row_of(i);
      return static_cast<std::int32_t>(row >= 0 && (row & mask) < own);
    });
    std::int32_t *from = sorted.order + begin, *to = sorted.rows + begin;
    const auto is_own = [=](std::int64_t i) {
      const std::int32_t row = all.row_of(i);
      return static_cast<std::int32_t>(row >= 0 && (row & mask) == own);
    };
    const std::int32_t count = team.scan(all.count, is_own, [=](std::int64_t i, std::int32_t at) {
      if (is_own(i) != 0) from[at] = static_cast<std::int32_t>(i);
    });
    if (team.leader() && own == mask) *sorted.found = begin + count;
    team.sync();
    for (int bit = 0; bit < bits && count > 1; ++bit) {
      const int place = bit + std::countr_zero(static_cast<std::uint32_t>(shares));
      const auto is_zero = [=](std::int64_t i) {
        return static_cast<std::int32_t>((all.row_of(from[i]) >> place & 1) == 0);
      };
      const std::int32_t zeros = team.sum(count, is_zero);
      team.scan(count, is_zero, [=](std::int64_t i, std::int32_t before) {
        to[is_zero(i) != 0 ? before : zeros + i - before] = from[i];
      });
      team.sync();
      std::int32_t* const next = from;
      from = to;
      to = next;
    }
    const SortedTokens into = sorted;
    const std::int32_t *const in = from, stride = shares;
    team.for_each((all.rows - own + mask) / shares, [=](std::int64_t i) {
      into.begin[own + i * stride] = 0;
      into.end[own + i * stride] = 0;
    });
    team.sync();
    team.for_each(count, [=](std::int64_t i) {
      const std::int32_t row = all.row_of(in[i]);
      const auto place = static_cast<std::int32_t>(begin + i);
      if (i == 0 || all.row_of(in[i - 1]) != row) into.begin[row] = place;
      if (i + 1 == count || all.row_of(in[i + 1]) != row) into.end[row] = place + 1;
    });
    team.sync();
    team.for_each(count, [=](std::int64_t i) {
      const std::int32_t token = in[i];
      into.order[begin + i] = token;
      into.rows[begin + i] = all.row_of(token);
    });
  }
};

/// The row of an id is the sum of dx over its tokens, in their order, and of what the row is where
/// `onto`. A team per row of the table, or per sorted token where there are fewer, and tile of
/// columns. `at_once`: how many rows of dx a thread has under way.
template <class Stored, int at_once>
struct SumSortedBody {
  static constexpr bool kWideRows = true;
  static constexpr std::int64_t kTile = 2048;
  SortedTokens sorted;
  const Stored* dx;
  Wide<Stored>* d_table;
  std::int64_t width, tiles;
  bool by_token, onto;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t work) const {
    const std::int64_t column = work % tiles * kTile;
    std::int64_t row = work / tiles;
    if (by_token) {
      const std::int64_t place = row;
      if (place >= *sorted.found) return;
      row = sorted.rows[place];
      if (sorted.begin[row] != place) return;
    }
    const std::int32_t begin = sorted.begin[row], end = sorted.end[row];
    if (begin == end) return;
    const std::int64_t left = width - column;
    team.sum_rows(left < kTile ? left : kTile, d_table + row * width + column, onto, end - begin,
                  dx + column, width, RowOfToken{sorted.order + begin});
  }

 private:
  struct RowOfToken {
    static constexpr int kAtOnce = at_once;
    const std::int32_t* order;
    MOE_BODY WeightedRow<Wide<Stored>> operator()(std::int64_t i) const { return {order[i], 1}; }
  };
};

/// False, having done nothing, where the executor has no room to sort.
template <class Exec, class Stored>
bool sum_sorted_tokens(Exec& exec, const TokensOfTable& of, const Stored* dx, Wide<Stored>* d_table,
                       std::int64_t width, bool onto) {
  if constexpr (requires { exec.scratch(std::size_t{}); }) {
    auto* const room = static_cast<std::int32_t*>(exec.scratch(SortedTokens::bytes(of)));
    if (room == nullptr || of.rows < 1) return false;
    const SortedTokens sorted = SortedTokens::in(room, of);
    const std::int32_t shares = token_shares(of.rows);
    const auto bits =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>((of.rows - 1) / shares)));
    exec.rows(shares, of.count, SortTokensBody{of, sorted, shares, bits});
    const auto sum = [&]<int at_once>(std::int64_t teams, std::integral_constant<int, at_once>) {
      using Body = SumSortedBody<Stored, at_once>;
      const std::int64_t tiles = (width + Body::kTile - 1) / Body::kTile;
      exec.rows(teams * tiles, Body::kTile,
                Body{sorted, dx, d_table, width, tiles, of.count < of.rows, onto});
    };
    // Words that are everywhere have many rows to add one after the other; of others each has few.
    if (of.rows <= of.count) {
      sum(of.rows, std::integral_constant<int, 16>{});
    } else {
      sum(of.count, std::integral_constant<int, 4>{});
    }
    return true;
  } else {
    return false;
  }
}

}  // namespace moe
