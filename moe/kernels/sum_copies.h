#pragma once

#include <type_traits>

#include "moe/kernels/sent_rows.h"

namespace moe {

/// Adds up the copies of a token: out[c] = sum of weight * from[row of copy][c], in the order of
/// the choices; zeros where no copy was kept.
template <class Stored>
struct CopiesOfTokens {
  using Real = Wide<Stored>;
  /// Copies that are added at once where a sum cannot stay in `out`. Of a token with more, every
  /// sum of so many is rounded.
  static constexpr int kAtOnce = 16;

  const Stored* from;
  SentRows rows;
  const Real* weights;  ///< by copy; nullptr: 1
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void sum(Team& team, std::int64_t token, Stored* out) const {
    const std::int64_t end = (token + 1) * choices;
    bool empty = true;
    for (std::int64_t copy = token * choices; copy < end;) {
      if constexpr (std::is_same_v<Stored, Real>) {
        empty = !add(team, copy++, empty, out) && empty;
      } else {
        const Some some = next(copy, end);
        if (some.count > 0) {
          add(team, some, empty, out);
          empty = false;
        }
        copy = some.after;
      }
    }
    if (empty) team.for_each(width, [=](std::int64_t c) { out[c] = Stored(0); });
  }

 private:
  MOE_BODY Real weight_of(std::int64_t copy) const {
    return weights == nullptr ? Real(1) : weights[copy];
  }

  /// False where the copy was dropped.
  template <class Team>
  MOE_BODY bool add(Team& team, std::int64_t copy, bool first, Stored* out) const {
    const std::int64_t row = rows.row_of(copy);
    if (row < 0) return false;
    const Stored* in = from + row * width;
    const Real weight = weight_of(copy);
    // Not map(): a member must find what it wrote itself, and map() shares elements by addresses.
    if (first) {
      team.for_each(width, [=](std::int64_t c) { out[c] = weight * in[c]; });
    } else {
      team.for_each(width, [=](std::int64_t c) { out[c] = out[c] + weight * in[c]; });
    }
    return true;
  }

  struct Some {
    const Stored* row[kAtOnce];
    Real weight[kAtOnce];
    int count;
    std::int64_t after;  ///< the copy to go on with
  };
  MOE_BODY Some next(std::int64_t copy, std::int64_t end) const {
    Some some;
    some.count = 0;
    for (; copy < end && some.count < kAtOnce; ++copy) {
      const std::int64_t row = rows.row_of(copy);
      if (row < 0) continue;
      some.row[some.count] = from + row * width;
      some.weight[some.count++] = weight_of(copy);
    }
    some.after = copy;
    return some;
  }

  template <class Team>
  MOE_BODY void add(Team& team, const Some& some, bool first, Stored* out) const {
    const Stored* in = some.row[0];
    const Real weight = some.weight[0];
    if (first && some.count == 1) {
      team.for_each(width, [=](std::int64_t c) { out[c] = weight * in[c]; });
    } else if (first && some.count == 2) {
      const Stored* other = some.row[1];
      const Real of_other = some.weight[1];
      team.for_each(width, [=](std::int64_t c) { out[c] = weight * in[c] + of_other * other[c]; });
    } else {
      const Some* all = &some;
      team.for_each(width, [=](std::int64_t c) {
        Real total = first ? Real(0) : Real(out[c]);
        for (int i = 0; i < all->count; ++i) total += all->weight[i] * all->row[i][c];
        out[c] = total;
      });
    }
  }
};

}  // namespace moe
