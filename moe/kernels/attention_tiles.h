#pragma once

#include <limits>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// A tile of scores of several heads of one sequence, from a head of q on and in steps of as many
/// heads as share keys and values. Row r is query r mod queries of head r / queries.
struct TileRows {
  std::int64_t begin, queries;   ///< the queries of the tile
  std::int64_t first_key, keys;  ///< the keys of the tile
  std::int64_t row, stride;      ///< elements from row to row of the tile, and from head to head
  std::int64_t length;           ///< of the sequence
  std::int64_t sharing;          ///< heads of q that share a head of k and v
  std::int64_t value_width;
  std::int64_t first_tile;  ///< the first key of the first tile that the block of queries sees
  std::int64_t window;      ///< keys that a query sees, itself among them

  MOE_BODY bool is_first() const { return first_key == first_tile; }
  MOE_BODY std::int64_t scores_at(std::int64_t r) const {
    return r / queries * stride + r % queries * row;
  }
  /// The same among elements of which `to_one` take the room of one score.
  MOE_BODY std::int64_t stored_at(std::int64_t r, std::int64_t to_one) const {
    return r / queries * stride * to_one + r % queries * row;
  }
  /// Keys of the tile that the query of row r sees.
  MOE_BODY std::int64_t seen(std::int64_t r) const {
    const std::int64_t up_to_itself = begin + r % queries + 1 - first_key;
    return up_to_itself < keys ? up_to_itself : keys;
  }
  /// Keys of the tile that lie before those, out of the window of the query.
  MOE_BODY std::int64_t unseen(std::int64_t r) const {
    const std::int64_t before = begin + r % queries + 1 - window - first_key, most = seen(r);
    return before < 0 ? 0 : before < most ? before : most;
  }
  /// Where the row's element is in [heads, length], counted from the first query of the first head.
  MOE_BODY std::int64_t statistic_at(std::int64_t r) const {
    return r % queries + r / queries * sharing * length;
  }
};

/// Where the rows of a tile have their sums.
template <class Real>
struct RowSums {
  Real* base;
  std::int64_t row, stride;  ///< elements from query to query, and from head to head

  MOE_BODY Real* of(const TileRows& tile, std::int64_t r) const {
    return base + r % tile.queries * row + r / tile.queries * stride;
  }
};

/// scores -> e^(scale score) over the sum of all of them up to this tile; log_sum_exp and y of the
/// tiles before -> with this one. A team per row.
///   L' = log(e^L + e^l), p = e^(scale s - L'), y' = e^(L - L') y + (the product p v that follows)
/// L of the tiles before, l of this tile. Before the first tile L is the sink of the head, if there
/// are any.
template <class Stored>
struct TileSoftmaxBody {
  using Real = Wide<Stored>;
  static constexpr std::int64_t kToOne = sizeof(Real) / sizeof(Stored);
  TileRows tile;
  Real* scores;
  Stored* probabilities;  ///< the scores themselves where they are stored in the same type
  Real* log_sum_exp;
  RowSums<Real> y;
  Real scale;
  const Stored* sinks;  ///< of the first head; null where there are none

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t r) const {
    const std::int64_t seen = tile.seen(r), unseen = tile.unseen(r), count = seen - unseen;
    Real* s = scores + tile.scores_at(r) + unseen;
    Stored* row = probabilities + tile.stored_at(r, kToOne);
    Stored* p = row + unseen;
    Real* sum_so_far = log_sum_exp + tile.statistic_at(r);
    const Real factor = scale;
    const Real largest = team.max(count, [=](std::int64_t i) { return s[i]; });
    team.sync();
    const Real sum = team.sum(count, [=](std::int64_t i) {
      const Real e = exponential((s[i] - largest) * factor);
      s[i] = e;
      return e;
    });
    const bool is_first = tile.is_first(), has_sinks = sinks != nullptr;
    const Real nothing = -std::numeric_limits<Real>::infinity();
    const Real own = count > 0 ? largest * factor + std::log(sum) : nothing;
    Real before = nothing, logarithm = own, weight = Real(1) / sum, keep = 0;
    if (!is_first) before = *sum_so_far;
    if (is_first && has_sinks) before = sinks[r / tile.queries * tile.sharing];
    if (count == 0) {
      logarithm = before;
      keep = 1;
    } else if (before > nothing) {
      logarithm = own > before ? own + std::log1p(std::exp(before - own))
                               : before + std::log1p(std::exp(own - before));
      weight *= std::exp(own - logarithm);
      keep = std::exp(before - logarithm);
    }
    team.sync();
    if (team.leader()) *sum_so_far = logarithm;
    team.for_each(count, [=](std::int64_t i) { p[i] = s[i] * weight; });
    team.for_each(unseen, [=](std::int64_t i) { row[i] = Stored(0); });
    team.for_each(tile.keys - seen, [=](std::int64_t i) { row[seen + i] = Stored(0); });
    if (!is_first) {
      Real* out = y.of(tile, r);
      team.for_each(tile.value_width, [=](std::int64_t c) { out[c] *= keep; });
    }
  }
};

/// scores s, gradients dp of the probabilities -> probabilities p and gradients of the scores,
/// zero beyond the diagonal. A team per row.
///   p = e^(scale s - log_sum_exp), ds = scale p (dp - sum of dy y)
/// The sum over a query's outputs is that of p dp over its keys, of which a tile has only some.
template <class Stored>
struct TileSoftmaxGradientBody {
  using Real = Wide<Stored>;
  static constexpr std::int64_t kToOne = sizeof(Real) / sizeof(Stored);
  TileRows tile;
  const Real* scores;
  const Real* gradients;
  Stored* probabilities;    ///< the scores themselves where they are stored in the same type
  Stored* score_gradients;  ///< the gradients likewise
  const Real* log_sum_exp;
  RowSums<const Stored> dy, y;
  Real scale;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t r) const {
    const std::int64_t at = tile.scores_at(r), stored_at = tile.stored_at(r, kToOne),
                       seen = tile.seen(r), unseen = tile.unseen(r);
    const Real *s = scores + at, *dp = gradients + at;
    Stored *p = probabilities + stored_at, *ds = score_gradients + stored_at;
    const Stored *row_dy = dy.of(tile, r), *row_y = y.of(tile, r);
    const Real factor = scale, logarithm = log_sum_exp[tile.statistic_at(r)];
    const Real dot = team.sum(tile.value_width,
                              [=](std::int64_t c) { return Real(row_dy[c]) * Real(row_y[c]); });
    team.for_each(unseen, [=](std::int64_t i) { p[i] = ds[i] = Stored(0); });
    team.for_each(seen - unseen, [=](std::int64_t from_first) {
      const std::int64_t i = unseen + from_first;
      const Real probability = exponential(s[i] * factor - logarithm);
      const Real gradient = factor * probability * (dp[i] - dot);
      p[i] = probability;
      ds[i] = gradient;
    });
    team.for_each(tile.keys - seen, [=](std::int64_t i) {
      p[seen + i] = Stored(0);
      ds[seen + i] = Stored(0);
    });
  }
};

/// Rounds sums of several heads, one after the other in `sums`, [rows, width] each, to where they
/// are stored. A team per head and row.
template <class Stored>
struct StoreSumsBody {
  const Wide<Stored>* sums;
  std::int64_t sums_stride;  ///< elements of `sums` from head to head
  std::int64_t rows, width;
  Stored* to;
  std::int64_t row, stride;  ///< elements of `to` from row and head to the next

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t i) const {
    const std::int64_t head = i / rows, of_head = i - head * rows;
    const Wide<Stored>* in = sums + head * sums_stride + of_head * width;
    Stored* out = to + head * stride + of_head * row;
    team.for_each(width, [=](std::int64_t c) { out[c] = in[c]; });
  }
};

}  // namespace moe
